/**
 * The code that all libraries share: HTTP in, a library that keeps the events, and a worker that signs and posts them.
 */
import { createHmac, createSecretKey } from "node:crypto";
import { createServer } from "node:http";
import { Agent } from "undici";
import { openBullmq } from "./bullmq-queue.ts";
import { openGraphile } from "./graphile-queue.ts";
import { CONCURRENCY, type OpenQueue } from "./library-queue.ts";
import type { LibraryPlan } from "./library.ts";

const TIMEOUT_MS = 10_000;
const OPEN: Record<LibraryPlan["name"], OpenQueue> = { bullmq: openBullmq, graphile: openGraphile };

const plan = JSON.parse(process.argv[2]!) as LibraryPlan;
const secret = createSecretKey(plan.secret, "utf8");
const agent = new Agent({
  connections: CONCURRENCY,
  pipelining: 1,
  headersTimeout: TIMEOUT_MS,
  bodyTimeout: TIMEOUT_MS,
});

const enqueue = await OPEN[plan.name](plan.service, async ({ url, body }) => {
  const { origin, pathname } = new URL(url);
  const headers = {
    "content-type": "application/json",
    "x-service-signature": createHmac("sha256", secret).update(body).digest("hex"),
  };
  const answer = await agent.request({ origin, path: pathname, method: "POST", headers, body });
  await answer.body.dump();
  if (answer.statusCode < 200 || answer.statusCode > 299) throw new Error(`the receiver answered ${answer.statusCode}`);
});

const authorization = `Bearer ${plan.key}`;
createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const url = plan.urls[Number(request.url!.slice(1))];
    const answer = (status: number) => response.writeHead(status, { "content-length": 0 }).end();
    if (request.headers.authorization !== authorization) return answer(401);
    if (url === undefined) return answer(404);
    enqueue({ url, body: Buffer.concat(chunks).toString() }).then(
      () => answer(202),
      () => answer(503),
    );
  });
}).listen(plan.port, "127.0.0.1");
