/** Draws the lines of the frame, one `Text` a row, and hands over what is typed. */
import { Box, Text, useApp, useInput, usePaste, type SuspendTerminal } from "ink";
import { memo, useEffect, useRef, useSyncExternalStore } from "react";
import { keysOf } from "./keystrokes.ts";
import type { Program } from "./program.ts";

export interface AppProps {
  readonly program: Program;
  /** Called with the way to give the terminal away for a while. */
  readonly onReady: (suspendTerminal: SuspendTerminal) => void;
}

export function App({ program, onReady }: AppProps) {
  const lines = useSyncExternalStore(program.subscribe, program.lines);
  const { suspendTerminal } = useApp();
  useEffect(() => onReady(suspendTerminal), [onReady, suspendTerminal]);
  const isSeen = useRef(false);
  // What was typed before is read in the turn after this one: it was typed without seeing what it acts on.
  useEffect(() => void setImmediate(() => setImmediate(() => (isSeen.current = true))), []);
  useInput((input, key) => {
    const keys = keysOf(input, key);
    if (isSeen.current || keys.includes("ctrl+c")) program.keys(keys);
  });
  // Always there: without it what is pasted would be keys.
  usePaste((text) => program.paste(text));
  return (
    // Not `overflow`: to cut rows at their sides, too, which have the width already, doubles what a frame costs.
    <Box flexDirection="column" height={lines.length} overflowY="hidden">
      {lines.map((line, index) => (
        // A row is its place on the screen.
        // oxlint-disable-next-line react/no-array-index-key
        <Row key={index} line={line} />
      ))}
    </Box>
  );
}

/** Ink takes each character apart, and fills with spaces what is left of a row; but a row of nothing would have no height. */
const Row = memo(function Row({ line }: { readonly line: string }) {
  return <Text wrap="truncate">{line.trimEnd() || " "}</Text>;
});
