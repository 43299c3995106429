// The inbox of opencode's agents. Written by `inbox setup opencode`, and taken away by `inbox setup opencode --remove`.
//
// It runs `inbox hook opencode EVENT` where opencode has a place for it, and beside each session `inbox monitor
// opencode`, whose lines wake an idle session. A line is a pointer: the mail itself comes by a tool or the shell.
// Nothing here may stop the agent: what fails is left out.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

const INBOX = "inbox"
const PATIENCE = 10_000

export const Inbox = async ({ client, directory }) => {
  // By session: what this turn is told, whether it is idle, what waits for that, and the monitor beside it.
  const sessions = new Map()
  // Those of subagents, which have no inbox of their own.
  const children = new Set()

  const of = (id) => {
    if (!sessions.has(id)) sessions.set(id, { told: [], idle: false, waiting: "", monitor: undefined })
    return sessions.get(id)
  }

  // Runs a hook and gives the text that it wants the agent to see.
  const hook = (event, id, more = {}) =>
    new Promise((resolve) => {
      try {
        const child = spawn(INBOX, ["hook", "opencode", event], {
          cwd: directory,
          env: { ...process.env, INBOX_SESSION: id },
          stdio: ["pipe", "pipe", "ignore"],
        })
        const timer = setTimeout(() => child.kill(), PATIENCE)
        let out = ""
        child.stdout.on("data", (piece) => (out += piece))
        child.stdin.on("error", () => {})
        child.on("error", () => resolve(""))
        child.on("close", () => {
          clearTimeout(timer)
          resolve(text(out))
        })
        child.stdin.end(JSON.stringify({ session_id: id, cwd: directory, hook_event_name: event, ...more }))
      } catch {
        resolve("")
      }
    })

  const text = (out) => {
    try {
      const answer = JSON.parse(out)
      const inner = answer.hookSpecificOutput ?? answer
      return inner.additionalContext ?? answer.reason ?? answer.context ?? ""
    } catch {
      return ""
    }
  }

  const wake = async (id, line) => {
    const session = of(id)
    if (!session.idle) {
      // A turn is running: the line waits for its end, and the newest says it all.
      session.waiting = line
      return
    }
    session.idle = false
    session.waiting = ""
    try {
      await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: line }] } })
    } catch {
      session.idle = true
    }
  }

  const watch = (id) => {
    const session = of(id)
    if (session.monitor) return
    try {
      const child = spawn(INBOX, ["monitor", "opencode", "--session", id], {
        cwd: directory,
        stdio: ["ignore", "pipe", "ignore"],
      })
      session.monitor = child
      child.on("error", () => (session.monitor = undefined))
      createInterface({ input: child.stdout }).on("line", (line) => wake(id, line))
    } catch {
      session.monitor = undefined
    }
  }

  const begin = async (id) => {
    const session = of(id)
    const said = await hook("session-start", id, { source: "startup" })
    if (said) session.told.push(said)
    watch(id)
  }

  const end = async (id) => {
    sessions.get(id)?.monitor?.kill()
    sessions.delete(id)
    await hook("end", id)
  }

  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created") info.parentID ? children.add(info.id) : await begin(info.id)
      if (event.type === "session.deleted" && sessions.has(info.id)) await end(info.id)
      if (event.type === "session.idle") {
        const id = event.properties.sessionID
        if (!sessions.has(id)) return
        const session = of(id)
        session.idle = true
        session.told = []
        const said = (await hook("stop", id)) || session.waiting
        if (said) await wake(id, said)
      }
    },
    "chat.message": async ({ sessionID }) => {
      if (children.has(sessionID)) return
      // A session from an earlier day was created before this plugin could see it.
      if (!sessions.has(sessionID)) await begin(sessionID)
      const session = of(sessionID)
      session.idle = false
      const said = await hook("prompt", sessionID)
      if (said) session.told.push(said)
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      // It stays for the whole turn: the first call of one may be for a title only.
      const session = sessionID && sessions.get(sessionID)
      if (session) output.system.push(...session.told)
    },
    "tool.execute.after": async ({ sessionID }, output) => {
      if (!sessions.has(sessionID)) return
      const said = await hook("after-tool", sessionID)
      if (said && typeof output.output === "string") output.output += `\n\n${said}`
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      if (!sessions.has(sessionID)) return
      const said = await hook("compact", sessionID)
      if (said) output.context.push(said)
    },
    "shell.env": async ({ sessionID }, output) => {
      if (sessionID) output.env.INBOX_SESSION = sessionID
    },
    dispose: async () => {
      for (const id of [...sessions.keys()]) await end(id)
    },
  }
}
