/** A daemon that responds to every operation with the example of its published description. */
import { readFileSync } from "node:fs";
import { OPERATIONS, type OperationName } from "../../src/client/operations.ts";
import { fakeDaemon, type FakeDaemon } from "./fake-daemon.ts";

interface Media {
  readonly example?: object;
  readonly examples?: Readonly<Record<string, { readonly $ref: string }>>;
}
interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Described {
  readonly responses: Readonly<Record<string, Response>>;
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, Response>>;
    readonly examples: Readonly<Record<string, { readonly value: object }>>;
  };
}

const file = new URL("../../docs/openapi.json", import.meta.url);
const { paths, components } = JSON.parse(readFileSync(file, "utf8")) as Description;

const ROUTES = (Object.entries(OPERATIONS) as [OperationName, string][])
  .map(([operation, route]) => {
    const [method, path] = route.split(" ") as [string, string];
    const pattern = new RegExp(`^${path.replaceAll(".", "\\.").replace("{id}", "[^/]+")}$`);
    return { operation, method, pattern, described: paths[path]![method.toLowerCase()]!, isOne: path.includes("{id}") };
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
  return Object.keys(problemsOf(described, status) ?? {});
}

function routeOf(method: string, path: string) {
  const { pathname } = new URL(path, "http://daemon");
  const found = ROUTES.find((route) => route.method === method && route.pattern.test(pathname));
  if (found === undefined) throw new Error(`there is no operation ${method} ${pathname}`);
  return found;
}

function exampleOf({ responses }: Described): { status: number; body?: Body } {
  const [status, { content }] = Object.entries(responses).find(([one]) => one.startsWith("2"))!;
  const body = content?.["application/json"]?.example;
  return { status: Number(status), ...(body !== undefined && { body }) };
}

function problemsOf({ responses }: Described, status: number) {
  const { $ref, ...inline } = responses[status] ?? {};
  const response: Response = $ref === undefined ? inline : components.responses[$ref.split("/").at(-1)!]!;
  return response.content?.["application/problem+json"]?.examples;
}

function problemOf(described: Described, { status, code, errors }: Refusal) {
  const examples = problemsOf(described, status);
  if (examples === undefined) throw new Error(`the description knows no ${status} there`);
  const { $ref } = examples[code ?? Object.keys(examples)[0]!]!;
  const body = components.examples[$ref.split("/").at(-1)!]!.value;
  return { status, body: { ...body, ...(errors && { errors }) }, type: "application/problem+json" };
}
