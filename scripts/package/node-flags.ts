/**
 * What Node is started with: in the executable, by `scripts/webhookd` and `npm start`, and under the benches; in the npm
 * package without the first.
 */
export const NODE_FLAGS = [
  // It would open a debugger.
  "--disable-sigusr1",
  // Of what the main thread just made, in MiB for each of two halves. V8 would let it grow to 64, and a load fills all
  // that it is given: 324 MiB resident at capacity in place of 237, for nothing. Senders: YOUNG_MIB in src/thread.ts.
  "--max-semi-space-size=16",
] as const;

/**
 * Before those, when the sources run, and in the tests. Processes that end threads have died in V8 of "Check failed:
 * jit_page.has_value()", our tests too, it seems on processors with memory protection keys. They guard V8's code against
 * code of others, which webhookd does not run. An executable goes without: V8 would refuse the code that is stored in it.
 */
export const SOURCE_FLAG = "--no-memory-protection-keys";
