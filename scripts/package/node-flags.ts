/**
 * V8 frees compiled WebAssembly once no thread uses it. When a thread has just ended, another may crash on this: "Check
 * failed: jit_page.has_value()", which ended one of some 340 runs of test/store/sqlite/questions. Each thread that
 * sends, or reads TypeScript, runs WebAssembly. With this flag, the code of ended threads is kept.
 */
export const V8_CODE_FLAG = "--no-wasm-code-gc";

/**
 * The flags that Node is started with: in the executable, by `scripts/webhookd` and `npm start`, and in the benches.
 * The npm package leaves out the first, and the tests use only the last.
 */
export const NODE_FLAGS = [
  // SIGUSR1 would open a debugger.
  "--disable-sigusr1",
  // The main thread's young generation, in MiB for each of two halves. V8 would let it grow to 64, and a load fills all
  // of it: 324 MiB resident at capacity instead of 237, for no gain. Sender threads have YOUNG_MIB in src/thread.ts.
  "--max-semi-space-size=16",
  V8_CODE_FLAG,
] as const;
