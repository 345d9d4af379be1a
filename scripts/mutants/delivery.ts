/** Bugs in what is sent, and in what comes of it. */
import type { Mutant } from "./mutant.ts";

export const DELIVERY: readonly Mutant[] = [
  {
    name: "results-that-failed-are-dropped",
    file: "src/delivery/core/way.ts",
    find: "  memory.unrecorded = [...memory.unrecorded, ...attempts];\n",
    replace: "",
    tests: ["test/sim/sim.test.ts"],
  },
  {
    name: "an-interrupted-attempt-uses-a-rung",
    file: "src/domain/deliveries/delivery.ts",
    find: "retry: claim.retry, dueAt: endedAt };",
    replace: "retry: claim.retry + 1, dueAt: endedAt };",
    tests: ["test/domain/delivery.test.ts"],
  },
  {
    name: "ladder-off-by-one",
    file: "src/domain/deliveries/due-time.ts",
    find: "return ladder[retry] ?? null;",
    replace: "return ladder[retry + 1] ?? null;",
    tests: ["test/domain/ladder.test.ts"],
  },
  {
    name: "our-own-fault-is-the-receivers",
    file: "src/domain/deliveries/attempt.ts",
    find: 'ours: error === "interrupted",',
    replace: "ours: false,",
    tests: ["test/sim/sim.test.ts"],
  },
  {
    name: "one-death-is-guilt-enough",
    file: "src/domain/deliveries/attempt.ts",
    find: "const DEATHS = 3;",
    replace: "const DEATHS = 1;",
    tests: ["test/crash/careful.test.ts", "test/sim/sim.test.ts"],
  },
  {
    name: "the-brake-is-not-heard",
    file: "src/delivery/dispatcher.ts",
    find: "return this.#executor.sending.pause();",
    replace: "return Promise.resolve();",
    tests: ["test/sim/sim.test.ts"],
  },
  {
    name: "a-held-publish-is-not-noted",
    file: "src/delivery/core/way.ts",
    find: "    windows.noteWaiting(each);\n",
    replace: "",
    tests: ["test/sim/sim.test.ts"],
  },
  {
    name: "a-new-event-overtakes-those-on-disk",
    file: "src/delivery/memory/windows.ts",
    find: "    if (window.overflows) return false;\n",
    replace: "",
    tests: ["test/delivery/order.test.ts"],
  },
  {
    name: "careful-mode-does-not-try-again",
    file: "src/delivery/dispatcher.ts",
    find: "    this.#careful?.retry();\n",
    replace: "",
    tests: ["test/delivery/trial.test.ts"],
  },
  {
    name: "a-new-thread-signs-with-the-old-secret",
    file: "src/delivery/threads/sender-pool.ts",
    find: "    this.#targets.set(target.endpoint, target);\n",
    replace: "    if (!this.#targets.has(target.endpoint)) this.#targets.set(target.endpoint, target);\n",
    tests: ["test/delivery/threads/sender-pool.test.ts"],
  },
  {
    name: "a-death-in-a-pause-drops-the-queue",
    file: "src/delivery/threads/sender-pool.ts",
    find: "    thread.send(outstanding.filter",
    replace: "    if (!this.#paused) thread.send(outstanding.filter",
    tests: ["test/sim/thread-death.test.ts"],
  },
  {
    name: "what-was-taken-back-is-tried-again-after-a-death",
    file: "src/delivery/threads/thread-port.ts",
    find: "takenBack: this.#takenBack.has(slot)",
    replace: "takenBack: false",
    tests: ["test/sim/thread-death.test.ts"],
  },
  {
    name: "a-new-thread-keeps-to-the-old-rules",
    file: "src/delivery/threads/sender-pool.ts",
    find: "    this.#settings = { ...this.#settings, addresses };\n",
    replace: "",
    tests: ["test/delivery/threads/sender-pool.test.ts"],
  },
  {
    name: "a-job-waits-for-a-start-that-was-taken-back",
    file: "src/delivery/send/paced-jobs.ts",
    find: "      lane.out = false;\n      this.#sleep(lane);\n",
    replace: "",
    tests: ["test/delivery/send/fair-queue.test.ts"],
  },
  {
    name: "what-a-full-disk-refused-before-is-forgotten",
    file: "src/delivery/core/disk.ts",
    find: "  memory.refused = [...memory.refused, ...claims];\n",
    replace: "  memory.refused = claims;\n",
    tests: ["test/delivery/withdrawal.test.ts"],
  },
  {
    name: "signed-with-the-wrong-secret-in-a-rotation",
    file: "src/delivery/send/signer.ts",
    find: "this.#key.signBody(body)",
    replace: "(this.#nextKey ?? this.#key).signBody(body)",
    tests: ["test/delivery/send/signer.test.ts"],
  },
  {
    name: "serialised-anew-at-send",
    file: "src/delivery/send/signer.ts",
    find: "    const { body } = send;\n",
    replace: "    const body = Buffer.from(JSON.stringify(JSON.parse(Buffer.from(send.body).toString())));\n",
    tests: ["test/delivery/send/signer.test.ts", "test/e2e/delivers.test.ts"],
  },
  {
    name: "wall-clock-for-durations",
    file: "src/delivery/http/egress.ts",
    find: "now: number = this.#clock.monotonic()): void {",
    replace: "now: number = this.#clock.now()): void {",
    tests: ["test/delivery/http/deadline.test.ts"],
  },
  {
    name: "due-times-are-not-clamped",
    file: "src/domain/deliveries/due-time.ts",
    find: "Math.min(dueAt, at + delay)",
    replace: "dueAt",
    tests: ["test/sim/sim.test.ts", "test/e2e/retries.test.ts"],
  },
  {
    name: "a-connection-is-kept-after-an-error",
    file: "src/delivery/http/connections.ts",
    find: "const keeps = isClean && !this.#closed",
    replace: "const keeps = !this.#closed",
    tests: ["test/delivery/http/connections.test.ts"],
  },
  {
    name: "a-redirect-counts-as-success",
    file: "src/delivery/http/answer.ts",
    find: "return this.status !== null && this.status < 300;",
    replace: "return this.status !== null && this.status < 400;",
    tests: ["test/delivery/http/exchange.test.ts", "test/delivery/http/hostile.test.ts"],
  },
  {
    name: "a-request-goes-again-after-an-answer-began",
    file: "src/delivery/http/exchange.ts",
    find: "this.#connection.opening === this.#kept && this.#firstByteAt === null && isReset(error)",
    replace: "this.#connection.opening === this.#kept && isReset(error)",
    tests: ["test/delivery/http/exchange-reset.test.ts"],
  },
  {
    name: "endpoints-of-one-origin-share-connections",
    file: "src/delivery/http/exchange.ts",
    find: "    this.#connections = new Connections(egress, new Destination(new URL(url), tenant));\n",
    replace: `    const { pools } = egress as unknown as { pools?: Map<string, Connections> };
    const byOrigin = pools ?? new Map<string, Connections>();
    Object.assign(egress, { pools: byOrigin });
    const { origin } = new URL(url);
    this.#connections = byOrigin.get(origin) ?? new Connections(egress, new Destination(new URL(url), tenant));
    byOrigin.set(origin, this.#connections);
`,
    tests: ["test/delivery/http/exchange.test.ts"],
  },
  {
    name: "a-success-waits-for-its-body",
    file: "src/delivery/http/exchange.ts",
    find: "    if (this.#answer !== null) this.#conclude(bodyErrorOf(error));\n    else if",
    replace: "    if (this.#answer?.succeeded === false) this.#conclude(bodyErrorOf(error));\n    else if",
    tests: ["test/delivery/http/exchange.test.ts"],
  },
  {
    name: "the-limit-ends-with-the-first-byte",
    file: "src/delivery/http/exchange.ts",
    find: "    if (answer.began) this.#firstByteAt ??= now;\n",
    replace:
      "    if (answer.began) this.#firstByteAt ??= now;\n    if (answer.began) this.#egress.attempts.remove(this);\n",
    tests: ["test/delivery/http/hostile.test.ts"],
  },
  {
    name: "a-move-ends-with-the-old-target",
    file: "src/delivery/threads/on-demand.ts",
    find: "      else this.#parts.clock.after(rest, () => this.#arrive(endpoint, held, low));\n",
    replace:
      "      else this.#parts.clock.after(rest, () => ((endpoint.target = target), this.#arrive(endpoint, held, low)));\n",
    tests: ["test/delivery/threads/on-demand.test.ts"],
  },
  {
    name: "a-piece-of-an-answer-stands-for-the-whole",
    file: "src/delivery/http/connections.ts",
    find: "const mayRepeat = this.#reader === null && !keepsAll;",
    replace: "const mayRepeat = !keepsAll;",
    tests: ["test/delivery/http/exchange.test.ts"],
  },
  {
    name: "a-new-connection-that-is-reset-is-tried-for-ever",
    file: "src/delivery/http/exchange.ts",
    find: "this.#connection.opening === this.#kept &&",
    replace: "this.#kept !== null &&",
    tests: ["test/delivery/http/exchange-reset.test.ts"],
  },
];
