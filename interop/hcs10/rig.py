"""Runs a devnet, and the HCS-10 client of npm as it is, where nothing else can be reached.

That client knows nothing but the public networks and services: their names and addresses lead here. In namespaces of its own:
`unshare -rmn python3 rig.py DEVNET HOSTS STORY`, each a command as a list of JSON. What the story prints is this program's output,
and how it ends is too.
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys

NAMES = ["testnet.mirrornode.hedera.com", "kiloscribe.com", "v2-api.tier.bot"]
SIOCSIFADDR, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8916, 0x8913, 0x8914, 1


def raise_loopback(end):
    """What `ip link set lo up` does, where there is no such program."""
    asked = struct.pack("16sH14s", b"lo", 0, b"")
    flags = struct.unpack("16sH14s", fcntl.ioctl(end, SIOCGIFFLAGS, asked))[1]
    fcntl.ioctl(end, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | IFF_UP, b""))


def add_address(end, number, address):
    """What `ip address add ADDRESS/32 dev lo` does."""
    place = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
    fcntl.ioctl(end, SIOCSIFADDR, struct.pack("16s16s", b"lo:%d" % number, place))


def name_hosts():
    """Everything that has a name is here; this mount namespace alone sees it."""
    with open("hosts", "w") as file:
        file.write("127.0.0.1 localhost %s\n" % " ".join(NAMES))
    subprocess.run(["mount", "--bind", "hosts", "/etc/hosts"], check=True)


def make_certificate():
    names = ",".join("DNS:" + name for name in NAMES)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", "key.pem", "-out", "certificate.pem", "-days", "2"]
    subject = ["-subj", "/CN=interop", "-addext", "subjectAltName=" + names]
    subprocess.run(["openssl", "req", "-x509", *curve, *files, *subject], check=True, stderr=subprocess.DEVNULL)
    for name in ["NODE_EXTRA_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"]:
        os.environ[name] = os.path.abspath("certificate.pem")


def start(command, started):
    """Starts a program that says in a line of JSON that it is ready."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    started.append(process)
    line = process.stdout.readline()
    if not line:
        sys.exit("%s did not start" % command[0])
    return json.loads(line)


devnet, hosts, story = (json.loads(word) for word in sys.argv[1:4])
name_hosts()
make_certificate()
started = []
try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        raise_loopback(end)
        for number, address in enumerate(start(hosts, started)["addresses"]):
            add_address(end, number, address)
    start(devnet, started)
    sys.exit(subprocess.run(story, timeout=300).returncode)
finally:
    for process in started:
        process.terminate()
        process.wait()
