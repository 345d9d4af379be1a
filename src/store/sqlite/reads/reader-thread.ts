/** Answers questions on its own thread and read-only connection, a slice at a time, in turns between callers. */
import { readlinkSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import { basename } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../../clock.ts";
import { openFile } from "../engine/open-database.ts";
import type { Reading } from "../engine/page.ts";
import type { Answer, Asked, FromReader, Pieces, Question } from "../questions/questions.ts";
import { sentError, Turns, type ReaderThreadData, type ToReader } from "../questions/questions.ts";
import { answersFrom, namesIn, rowsIn } from "./answers.ts";
import { markWith } from "../../rows/box.ts";
import { Cursors } from "../../lists/cursors.ts";

/** Long enough for another connection to recover the log, which is the only thing to wait for. */
const BUSY_MS = 1000;

/** If lists and publishes compete for the same core, a publish gets three times as much of it. */
const NICENESS = 5;

type AnyReading = Reading<Answer<Question>, Pieces[Question]>;

interface Task {
  readonly id: number;
  readonly caller: string;
  readonly begin: () => AnyReading;
  reading: AnyReading | null;
}

// Only Linux gives a thread its own priority, by an id that Node does not know.
if (process.platform === "linux") {
  try {
    const thread = Number(basename(readlinkSync("/proc/thread-self")));
    setPriority(thread, Math.min(getPriority(thread) + NICENESS, constants.priority.PRIORITY_LOW));
  } catch {
    // Lists work without it too.
  }
}

const { database, nativeBinding, markKey } = workerData as ReaderThreadData;
const port = parentPort!;
const db = openFile(database, { timeout: BUSY_MS, readonly: true, nativeBinding });
db.pragma("cache_size = -4096");
db.pragma("temp_store = MEMORY");
const names = namesIn(db);
const answers = answersFrom(db, rowsIn(db, names), {
  cursors: new Cursors((bytes) => markWith(markKey, bytes)),
  monotonic: () => systemClock.monotonic(),
});
const begin = db.prepare("BEGIN");
const commit = db.prepare("COMMIT");
const dataVersion = db.prepare<[], number>("PRAGMA data_version").pluck();

const tasks = new Map<number, Task>();
const turns = new Turns<Task>();
let seen = -1;
let resting = false;
let scheduled = false;

/**
 * Uses one transaction per slice, so that its rows fit together, it sees all earlier commits, and the write-ahead log
 * can be moved into the database soon after.
 */
function slice<T>(work: () => T): T {
  begin.run();
  try {
    const version = dataVersion.get()!;
    if (version !== seen) {
      seen = version;
      for (const memory of Object.values(names)) memory.forget();
    }
    return work();
  } finally {
    commit.run();
  }
}

function schedule(): void {
  if (scheduled || resting) return;
  scheduled = true;
  setImmediate(run);
}

function run(): void {
  scheduled = false;
  const task = resting ? undefined : turns.next();
  if (task === undefined) return;
  schedule();
  try {
    const { done, value } = slice(() => (task.reading ??= task.begin()).next());
    if (done === true) {
      end(task);
      say({ kind: "answer", id: task.id, answer: value });
    } else if (value !== undefined) {
      turns.remove(task.caller, task);
      say({ kind: "piece", id: task.id, piece: value });
    }
  } catch (error) {
    end(task);
    say({ kind: "error", id: task.id, error: sentError(error) });
  }
}

function end(task: Task): void {
  tasks.delete(task.id);
  turns.remove(task.caller, task);
}

function say(message: FromReader): void {
  port.postMessage(message);
}

port.on("message", (message: ToReader) => {
  switch (message.kind) {
    case "ask": {
      const { id, caller, question, asked } = message;
      const answer = answers[question] as (asked: Asked<Question>) => AnyReading;
      const task: Task = { id, caller, begin: () => answer(asked), reading: null };
      tasks.set(id, task);
      turns.add(caller, task);
      break;
    }
    case "more": {
      const task = tasks.get(message.id);
      if (task !== undefined) turns.add(task.caller, task);
      break;
    }
    case "drop": {
      const task = tasks.get(message.id);
      if (task !== undefined) end(task);
      break;
    }
    case "rest":
      resting = true;
      say({ kind: "resting" });
      break;
    case "go":
      resting = false;
      break;
  }
  schedule();
});
