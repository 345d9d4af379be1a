/**
 * V8 frees what it compiled of WebAssembly once no thread uses it. When a thread has just ended, another may crash there:
 * "Check failed: jit_page.has_value()", which ended one of some 340 runs of test/store/sqlite/questions. Each thread that
 * sends, or reads TypeScript, runs WebAssembly. The wrappers of what those that ended called are kept now.
 */
export const V8_CODE_FLAG = "--no-wasm-code-gc";

/**
 * What Node is started with: in the executable, by `scripts/webhookd` and `npm start`, and under the benches; in the npm
 * package without the first, in the tests with the last alone.
 */
export const NODE_FLAGS = [
  // It would open a debugger.
  "--disable-sigusr1",
  // Of what the main thread just made, in MiB for each of two halves. V8 would let it grow to 64, and a load fills all
  // that it is given: 324 MiB resident at capacity in place of 237, for nothing. Senders: YOUNG_MIB in src/thread.ts.
  "--max-semi-space-size=16",
  V8_CODE_FLAG,
] as const;
