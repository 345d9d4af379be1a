/** Draws the lines of the frame, one `Text` per row, and passes on what is typed. */
import { Box, Text, useApp, useInput, usePaste, type SuspendTerminal } from "ink";
import { memo, useEffect, useRef, useSyncExternalStore } from "react";
import { keysOf } from "./keystrokes.ts";
import type { Program } from "./program.ts";

export interface AppProps {
  readonly program: Program;
  /** Called with the function that lends the terminal to another program for a while. */
  readonly onReady: (suspendTerminal: SuspendTerminal) => void;
}

export function App({ program, onReady }: AppProps) {
  const lines = useSyncExternalStore(program.subscribe, program.lines);
  const { suspendTerminal } = useApp();
  useEffect(() => onReady(suspendTerminal), [onReady, suspendTerminal]);
  const isSeen = useRef(false);
  // Ignore keys that were typed before the first frame, because the person had not seen what they act on. They are read
  // in the turn after this one.
  useEffect(() => void setImmediate(() => setImmediate(() => (isSeen.current = true))), []);
  useInput((input, key) => {
    const keys = keysOf(input, key);
    if (isSeen.current || keys.includes("ctrl+c")) program.keys(keys);
  });
  // Always handle pastes. Otherwise pasted text would be read as keys.
  usePaste((text) => program.paste(text));
  return (
    // Not `overflow`, which also cuts rows at their sides. They have the right width already, and cutting them doubles
    // the cost of a frame.
    <Box flexDirection="column" height={lines.length} overflowY="hidden">
      {lines.map((line, index) => (
        // A row is identified by its place on the screen, which is the index.
        // oxlint-disable-next-line react/no-array-index-key
        <Row key={index} line={line} />
      ))}
    </Box>
  );
}

/**
 * Ink splits a row into characters and pads it with spaces itself, so trailing spaces only cost time. An empty row
 * would have no height.
 */
const Row = memo(function Row({ line }: { readonly line: string }) {
  return <Text wrap="truncate">{line.trimEnd() || " "}</Text>;
});
