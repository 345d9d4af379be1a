import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../../../cli/exit-code.ts";
import { newSigningSecret, signingKey } from "../../../src/domain/endpoints/secret.ts";
import { FakeIo } from "../fake-io.ts";
import { webhookd } from "../runs.ts";
import { TestReceiver } from "../../harness/receiver.ts";
import { BODY, EVENT, Listening, SECRET } from "./listening.ts";

let dir: string;
let secrets: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "webhookd-listen-"));
  secrets = join(dir, "secrets");
  writeFileSync(secrets, `${newSigningSecret(() => new Uint8Array(32).fill(9))}\n${SECRET}\n`);
});
afterEach(() => rmSync(dir, { recursive: true }));

describe("webhookd listen", () => {
  it("says of each request whether its signature is right, by any of the secrets", async () => {
    const listening = await Listening.start(["--secret-file", secrets]);
    expect((await listening.deliver())?.status).toBe(200);
    expect((await listening.deliver(BODY, { "x-webhookd-attempt": "2", "x-webhookd-test": "1" }))?.status).toBe(200);
    expect(
      (await listening.post(`${BODY}\n`, { "x-service-signature": signingKey(SECRET).signBody(BODY) }))?.status,
    ).toBe(401);
    expect((await listening.post(BODY))?.status).toBe(401);
    expect(await listening.stop()).toBe(EXIT.ok);
    const size = BODY.length;
    const [genuine, again, wrong, missing] = listening.lines;
    expect(genuine).toBe(`22:13:20Z ✓ signature ok  ${EVENT} budget.exceeded ${size} B -> 200 in 0 ms`);
    expect(again).toContain(`${size} B (test) attempt 2 -> 200 in 0 ms   seen before: same id, so ignore it`);
    expect(wrong).toMatch(
      /✗ WRONG SIGNATURE .* -> 401 in 0 ms {3}header [0-9a-f]{8}\.\.\., computed [0-9a-f]{8}\.\.\.; the body ends with a newline/,
    );
    expect(missing).toContain("✗ NO SIGNATURE");
    expect(listening.io.out).not.toContain(SECRET);
  });

  it("verifies webhook-signature too, alone or beside the other", async () => {
    const listening = await Listening.start(["--secret-file", secrets]);
    const standard = signingKey(SECRET).signStandard(EVENT, 1_700_000_000, BODY);
    const headers = { "webhook-id": EVENT, "webhook-timestamp": "1700000000", "webhook-signature": standard };
    expect((await listening.post(BODY, headers))?.status).toBe(200);
    expect((await listening.deliver(BODY, headers))?.status).toBe(200);
    expect((await listening.deliver(BODY, { ...headers, "webhook-timestamp": "1700000001" }))?.status).toBe(401);
    await listening.stop();
  });

  it("does not call an event seen before that it has refused", async () => {
    const listening = await Listening.start(["--secret-file", secrets, "--fail-first", "1"]);
    for (const status of [500, 200, 200]) expect((await listening.deliver())?.status).toBe(status);
    await listening.stop();
    expect(listening.lines.map((line) => line.includes("seen before"))).toEqual([false, false, true]);
  });

  it("answers as its flags say: in turn, late, or not at all", async () => {
    const turns = await Listening.start(["--status", "200,500, 503", "--fail-first", "2"]);
    const seen = [];
    for (let n = 0; n < 6; n++) seen.push((await turns.deliver())?.status);
    expect(seen).toEqual([500, 500, 200, 500, 503, 200]);
    await turns.stop();
    const late = await Listening.start(["--delay", "2s", "--once"]);
    expect((await late.deliver())?.status).toBe(200);
    expect(await late.code).toBe(EXIT.ok);
    expect(late.io.out).toContain("-> 200 in 2000 ms");
    const rude = await Listening.start(["--drop"]);
    expect(await rude.deliver()).toBeNull();
    await rude.until(/hung up/);
    await rude.stop();
  });

  it("with --once ends after one request, with 8 if its signature is wrong", async () => {
    const good = await Listening.start(["--once", "--secret-file", secrets]);
    expect((await good.deliver())?.status).toBe(200);
    expect(await good.code).toBe(EXIT.ok);
    const bad = await Listening.start(["--once", "--secret-file", secrets]);
    expect((await bad.post(BODY, { "x-service-signature": "00" }))?.status).toBe(401);
    expect(await bad.code).toBe(EXIT.answer_is_no);
  });

  it("answers 404 elsewhere, 405 to anything but POST, 413 to a flood, and says nothing of them", async () => {
    const listening = await Listening.start(["--path", "/hook"]);
    expect((await listening.deliver())?.status).toBe(404);
    expect((await listening.post("", {}, "/hook?x=1", "GET"))?.status).toBe(405);
    // The receiver may close the connection while the client is still sending.
    expect([413, undefined]).toContain((await listening.post(Buffer.alloc(5_000_000), {}, "/hook"))?.status);
    expect((await listening.post(BODY, {}, "/hook?x=1"))?.status).toBe(200);
    await listening.stop();
    expect(listening.lines).toHaveLength(1);
  });

  it("shows outside text harmlessly, and in ASCII where the locale knows no more", async () => {
    const hostile = JSON.stringify({ id: "\x1b[2Jevil", type: "\u202egpj" });
    const listening = await Listening.start(["--secret-file", secrets], { LANG: "C" });
    await listening.post(hostile, { "webhook-signature": "v1,x" });
    await listening.post("\xff", {});
    await listening.stop();
    expect(listening.io.out).toContain("<U+001B>[2Jevil <U+202E>gpj");
    expect(listening.io.out).toContain("x WRONG SIGNATURE");
    expect(listening.io.out).toMatch(/^[\n\x20-\x7e]+$/);
  });

  it("with --json prints a document a line", async () => {
    const listening = await Listening.start(["--json", "--secret-file", secrets]);
    await listening.deliver();
    await listening.post(`${BODY}\n`, { "x-service-signature": signingKey(SECRET).signBody(BODY) });
    await listening.stop();
    const [first, genuine, wrong] = listening.io.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(first).toEqual({ kind: "listening", url: expect.stringMatching(/^http/), endpoint: null });
    expect(genuine).toMatchObject({ kind: "request", signature: "ok", id: EVENT, status: 200, reasons: [] });
    expect(wrong).toMatchObject({
      signature: "wrong",
      status: 401,
      reasons: [/header/, /newline/].map((one) => expect.stringMatching(one)),
    });
  });

  it("keeps each request in files that nobody else may read, and writes over none", async () => {
    const kept = join(dir, "kept");
    for (let run = 0; run < 2; run++) {
      const listening = await Listening.start(["--save", kept]);
      await listening.deliver();
      await listening.post("../../etc", { "webhook-id": "../../../x" });
      await listening.stop();
    }
    const names = readdirSync(kept);
    expect(names.sort()).toEqual(
      ["0001", "0003"]
        .map((n) => `${n}-${EVENT}`)
        .concat(["0002-request", "0004-request"])
        .flatMap((name) => [`${name}.body`, `${name}.headers`])
        .sort(),
    );
    expect(readFileSync(join(kept, `0001-${EVENT}.body`), "utf8")).toBe(BODY);
    expect(readFileSync(join(kept, `0001-${EVENT}.headers`), "utf8")).toContain("X-Service-Signature: ");
    expect(statSync(join(kept, "0002-request.body")).mode & 0o77).toBe(0);
  });

  it("passes everything on byte for byte, and the answer back", async () => {
    const program = await TestReceiver.start([{ status: 422, body: "no" }]);
    const listening = await Listening.start(["--forward-to", program.url, "--secret-file", secrets]);
    expect(await listening.deliver(BODY, { "x-more": "1" })).toEqual({ status: 422, body: "no" });
    const [got] = program.requests;
    expect(got!.body.toString()).toBe(BODY);
    expect(got!.headers).toMatchObject({ "x-more": "1", "webhook-id": EVENT, host: `127.0.0.1:${program.port}` });
    expect(got!.rawHeaders).toContain("X-Service-Signature");
    await listening.post(BODY, { "x-service-signature": "00" });
    await program.close();
    expect((await listening.deliver())?.status).toBe(502);
    await listening.stop();
    expect(program.requests).toHaveLength(1);
    expect(listening.lines.at(-1)).toContain("-> 502 in 0 ms   not forwarded: ECONNREFUSED");
  });

  it.each(["127.0.0.1", "::1"])("finds a program on %s by localhost, with or without a scheme", async (host) => {
    const paths: string[] = [];
    const program = createServer((request, response) => {
      paths.push(request.url!);
      response.end("there");
    }).listen(0, host);
    await once(program, "listening");
    const { port } = program.address() as AddressInfo;
    for (const target of [`localhost:${port}/hook?a=1`, `http://localhost:${port}/hook`, `localhost:${port}`]) {
      const listening = await Listening.start(["--forward-to", target, "--secret-file", secrets]);
      expect(await listening.deliver()).toEqual({ status: 200, body: "there" });
      await listening.stop();
    }
    expect(paths).toEqual(["/hook?a=1", "/hook", "/"]);
    program.close();
    await once(program, "close");
    const listening = await Listening.start(["--forward-to", `localhost:${port}`, "--secret-file", secrets]);
    expect((await listening.deliver())?.status).toBe(502);
    await listening.stop();
    expect(listening.lines.at(-1)).toContain("not forwarded: ECONNREFUSED");
  });

  it("says that a port is taken, and what to type", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const io = new FakeIo();
    expect(await webhookd(io, "listen", "--port", String(port))).toBe(EXIT.refused);
    expect(io.err).toMatch(
      new RegExp(`port ${port} of 127\\.0\\.0\\.1 is already in use\n  .*--port \\d+, or --port 0`),
    );
    expect(io.watchesSignals).toBe(false);
    other.close();
  });

  it("ends when the reader of its output has gone", async () => {
    const listening = await Listening.start([]);
    listening.io.reader = () => false;
    await listening.deliver();
    expect(await listening.code).toBe(EXIT.ok);
  });

  it.each([
    [["--port", "65536"], "--port must be a number from 0 to 65535"],
    [["--path", "hook"], "--path must be a path"],
    [["--path", "/a/../b"], "--path must be a path"],
    [["--status", "99"], "--status must be a status"],
    [["--status", "200,"], "--status must be a status"],
    [["--delay", "2h"], "--delay may be at most 60s"],
    [["--keep"], "need --register"],
    [["--register", "--secret-file", "x"], "drop --secret-file"],
    [["--forward-to", "localhost"], "--forward-to must be an address"],
    [["--forward-to", "localhost:port/"], "--forward-to must be an address"],
    [["--forward-to", "ftp://x/"], "--forward-to must be an address"],
    [["--forward-to", "http://x/", "--status", "200"], "both set the answer"],
  ])("refuses %j before anything is opened", async (words, message) => {
    const io = new FakeIo();
    expect(await webhookd(io, "listen", ...words, "--socket", "/nonexistent/s")).toBe(EXIT.usage);
    expect(io.err).toContain(message);
    expect(io.err).toContain("Nothing was done");
    expect(io.out).toBe("");
  });
});
