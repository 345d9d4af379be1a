/**
 * Hooks for modules that several test files import. vitest loads such a module once for all files that share a process,
 * and runs a hook that it sets itself only in the first of them. test/harness/hooks.ts runs these in every file.
 */
type End = () => unknown;

const ofTest: End[] = [];
const ofFile: End[] = [];

export function afterEveryTest(end: End): void {
  ofTest.push(end);
}

export function afterEveryFile(end: End): void {
  ofFile.push(end);
}

export async function endTest(): Promise<void> {
  for (const end of ofTest.toReversed()) await end();
}

export async function endFile(): Promise<void> {
  for (const end of ofFile.toReversed()) await end();
}
