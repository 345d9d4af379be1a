/** A daemon that responds to every operation with its example. */
import { readFileSync } from "node:fs";
import { exampleOf as problemExample } from "../../src/api/openapi/responses.ts";
import type { ErrorCode } from "../../src/domain/errors.ts";
import { OPERATIONS, type OperationName } from "../../src/client/operations.ts";
import { fakeDaemon, type FakeDaemon } from "./fake-daemon.ts";

interface Described {
  /** The first of the operation's good replies. */
  readonly status: number;
  /** Absent if the reply has no body, or none that is JSON. */
  readonly body?: object;
  /** The problem codes with which it may respond, by their status. */
  readonly problems: Readonly<Record<string, readonly ErrorCode[]>>;
}

/** Written by `vitest run test/api/openapi/published.test.ts --update`. */
const file = new URL("operations.json", import.meta.url);
const DESCRIBED = JSON.parse(readFileSync(file, "utf8")) as Record<OperationName, Described>;

const ROUTES = (Object.entries(OPERATIONS) as [OperationName, string][])
  .map(([operation, route]) => {
    const [method, path] = route.split(" ") as [string, string];
    const pattern = new RegExp(`^${path.replaceAll(".", "\\.").replace("{id}", "[^/]+")}$`);
    return { operation, method, pattern, described: DESCRIBED[operation], isOne: path.includes("{id}") };
  })
  // Paths with an id match last, so that `/v1/webhooks/events` is not taken for an endpoint's id.
  .sort((one, other) => Number(one.isOne) - Number(other.isOne));

/** Text is sent unchanged. */
export type Body = object | string;
export interface Refusal {
  readonly status: number;
  /** By default, the first code that the description lists for the status. */
  readonly code?: string;
  /** The fields at fault. */
  readonly errors?: readonly object[];
}

export interface Answering {
  readonly answers?: { readonly [O in OperationName]?: Body | readonly Body[] };
  /** Returns the refusal of an operation, or undefined if it is not refused. */
  readonly refuse?: (operation: OperationName) => Refusal | undefined;
}

export interface DescribedDaemon extends FakeDaemon {
  /** The operations that were called, in order. */
  asked(): OperationName[];
}

export async function describedDaemon({ answers = {}, refuse }: Answering = {}): Promise<DescribedDaemon> {
  const asked: OperationName[] = [];
  const daemon = await fakeDaemon(({ method, path }) => {
    const { operation, described } = routeOf(method, path);
    const before = asked.filter((one) => one === operation).length;
    asked.push(operation);
    const refusal = refuse?.(operation);
    if (refusal !== undefined) return problemOf(described, refusal);
    const own = answers[operation];
    if (own === undefined) return exampleOf(described);
    const body = (Array.isArray(own) ? own[Math.min(before, own.length - 1)] : own) as Body;
    const type = operation === "streamChanges" ? "text/event-stream" : "application/json";
    return { ...exampleOf(described), body, type };
  });
  return { ...daemon, asked: () => asked };
}

/** Returns the problem codes with which an operation may respond under a status, according to its description. */
export function refusalsOf(operation: OperationName, status: number): string[] {
  const { described } = ROUTES.find((route) => route.operation === operation)!;
  return [...(described.problems[status] ?? [])];
}

function routeOf(method: string, path: string) {
  const { pathname } = new URL(path, "http://daemon");
  const found = ROUTES.find((route) => route.method === method && route.pattern.test(pathname));
  if (found === undefined) throw new Error(`there is no operation ${method} ${pathname}`);
  return found;
}

function exampleOf({ status, body }: Described): { status: number; body?: Body } {
  return { status, ...(body !== undefined && { body }) };
}

function problemOf({ problems }: Described, { status, code, errors }: Refusal) {
  const known = problems[status]?.find((one) => code === undefined || one === code);
  if (known === undefined) throw new Error(`the description knows no ${status} ${code ?? ""} there`);
  return { status, body: { ...problemExample(known), ...(errors && { errors }) }, type: "application/problem+json" };
}
