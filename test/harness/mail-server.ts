/** A mail server that records what it receives, and runs until the test ends. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

interface Received {
  readonly lines: string[];
  readonly messages: string[];
  readonly port: number;
}

/**
 * Answers each command with 250, or with the answer for its first word in `answers`. After DATA it answers with `data`.
 */
export async function mailServer(
  answers: Readonly<Record<string, string>> = {},
  data: readonly string[] = [],
): Promise<Received> {
  const received: { lines: string[]; messages: string[] } = { lines: [], messages: [] };
  const server = createServer((socket) => {
    let [text, message] = ["", null as string[] | null];
    const say = (line: string) => socket.write(`${line}\r\n`);
    const take = (line: string) => {
      if (message !== null && line !== ".") return void message.push(line);
      if (message !== null) {
        const answer = data[received.messages.length] ?? "250 ok";
        received.messages.push(message.join("\n"));
        message = null;
        return say(answer);
      }
      received.lines.push(line);
      const word = line.split(" ", 1)[0]!;
      if (word === "EHLO") return say(answers[word] ?? "250-here\r\n250 AUTH PLAIN");
      if (word === "DATA") message = [];
      say(
        answers[word] ??
          (word === "STARTTLS" ? "502 no" : word === "AUTH" ? "235 ok" : word === "DATA" ? "354 go on" : "250 ok"),
      );
    };
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      text += String(chunk);
      const lines = text.split("\r\n");
      text = lines.pop()!;
      lines.forEach(take);
    });
    say("220 here");
  });
  server.listen(0);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return { ...received, port: (server.address() as AddressInfo).port };
}
