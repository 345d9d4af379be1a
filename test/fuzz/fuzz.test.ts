import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { MODES } from "../../scripts/fuzz/modes.ts";
import { planOf } from "../../scripts/fuzz/requests.ts";
import { readResponses } from "../../scripts/fuzz/responses.ts";
import type { Outcome } from "../../scripts/fuzz/run.ts";

const PROGRAM = resolve(import.meta.dirname, "../../scripts/fuzz/main.ts");
const REQUESTS = 1000;

const scratch = mkdtempSync(join(tmpdir(), "webhookd-test-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe("raw requests", () => {
  it("end no process, whatever they are and wherever they come in", async () => {
    const args = ["--json", "--requests", String(REQUESTS), "--seed", "1"];
    const env = { ...process.env, TMPDIR: scratch };
    const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    expect(stderr).toBe("");
    const outcomes = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Outcome);
    expect(outcomes.map(({ mode, faults }) => ({ mode, faults }))).toEqual(MODES.map((mode) => ({ mode, faults: [] })));
    for (const { mode, requests, statuses } of outcomes) {
      expect(requests, mode).toBeGreaterThanOrEqual(REQUESTS);
      // The requests also reach the code behind the parser.
      for (const status of [200, 400, 404, 405]) {
        expect(statuses[status], `${status} in ${mode}`).toBeGreaterThan(0);
      }
    }
    expect(code).toBe(0);
    expect(readdirSync(scratch)).toEqual([]);
  });

  it("of a seed are always the same", () => {
    const kind = { key: "whk_x", isProxied: true, paths: ["/a", "/b"] };
    for (let index = 0; index < 50; index++) expect(planOf(7, index, kind)).toEqual(planOf(7, index, kind));
    expect(planOf(7, 1, kind)).not.toEqual(planOf(8, 1, kind));
  });
});

describe("a reader of answers", () => {
  const read = (text: string, isCut = false, hasHead = false) => readResponses(text, { isCut, hasHead });
  const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

  it("takes what is HTTP", () => {
    const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    const all = `HTTP/1.1 100 Continue\r\n\r\n${OK}${chunked}HTTP/1.1 204 No Content\r\n\r\n${OK}`;
    expect(read(all)).toEqual({
      responses: [200, 200, 204, 200].map((status) => ({ status, code: null })),
      fault: null,
    });
    expect(read("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n" + OK, false, true).responses).toHaveLength(2);
    expect(read(OK.slice(0, -1), true).fault).toBeNull();
  });

  it.each([
    ["an answer that is cut short", OK.slice(0, -1)],
    ["bytes behind an answer", `${OK}x`],
    ["two lengths", OK.replace("\r\n\r\n", "\r\ncontent-length: 2\r\n\r\n")],
    ["a length and chunks", OK.replace("\r\n\r\n", "\r\ntransfer-encoding: chunked\r\n\r\n")],
    ["a body without an end", "HTTP/1.1 200 OK\r\n\r\nok"],
    ["a header that is none", OK.replace("content", "x y\r\ncontent")],
    ["an upgrade", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    ["an error in another form", "HTTP/1.1 404 x\r\nx-request-id: a\r\ncontent-length: 2\r\n\r\n{}"],
  ])("accuses %s", (_name, text) => {
    expect(read(text).fault).not.toBeNull();
  });
});
