"""Runs a devnet and a client of it, where nothing else can be reached.

In a network namespace of its own: `unshare -rn python3 alone.py DEVNET CLIENT`, both as lists of JSON. The client's output is this
program's, and so is how it ended.
"""

import fcntl
import json
import socket
import struct
import subprocess
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def raise_loopback():
    """What `ip link set lo up` does, where there is no such program."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        asked = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(end, SIOCGIFFLAGS, asked))[1]
        fcntl.ioctl(end, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | IFF_UP, b""))


raise_loopback()
devnet = subprocess.Popen(json.loads(sys.argv[1]), stdout=subprocess.PIPE, text=True)
try:
    ready = devnet.stdout.readline()
    if not ready:
        sys.exit("the devnet did not start")
    print(ready, end="", flush=True)
    sys.exit(subprocess.run(json.loads(sys.argv[2]), timeout=240).returncode)
finally:
    devnet.terminate()
    devnet.wait()
