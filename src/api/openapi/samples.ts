/** Writes how each operation is called, in the shell and with our clients. */

export interface Called {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly needsKey: boolean;
  /** True if it answers with a page of a list. */
  readonly isList: boolean;
  /** True if it answers with JSON, or with nothing. */
  readonly isJson: boolean;
  /** An example. Undefined if it takes no body. */
  readonly body: unknown;
}

export const LANGUAGES = { curl: "curl", node: "Node", python: "Python" } as const;
type Language = keyof typeof LANGUAGES;

/** Stands for the id in the path, by the resource before it. */
const IDS: Readonly<Record<string, string>> = {
  webhooks: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
  events: "evt_06fbqxw6v8s2d4f6g8h0j2k4m6",
  deliveries: "dlv_06fbqxw6v8s2d4f6g8h0j2k4n0",
  attempts: "att_06fbqxw6v8s2d4f6g8h0j2k4p2",
  jobs: "job_06fbqxw6v8s2d4f6g8h0j2k4q4",
  keys: "key_06fbqxv0d8r2s4t6v8w0x2y4z6",
  "event-types": "order.created",
};

export function samplesOf(called: Called): Readonly<Record<Language, string>> {
  return { curl: curl(called), node: node(called), python: python(called) };
}

function idOf({ path }: Called): string | null {
  const [, resource] = /\/([\w-]+)\/\{\w+\}/.exec(path) ?? [];
  return resource === undefined ? null : (IDS[resource] ?? "ID");
}

function curl(called: Called): string {
  const { method, path, body, needsKey } = called;
  const target = path.replace(/\{\w+\}/, idOf(called) ?? "");
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}"$WEBHOOKD_URL${target}"`];
  if (needsKey) lines.push(`-H "Authorization: Bearer $WEBHOOKD_KEY"`);
  if (body !== undefined) {
    lines.push(`-H "Content-Type: application/json"`);
    lines.push(`-d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`);
  }
  return lines.join(" \\\n  ");
}

function node(called: Called): string {
  const { id, isList, isJson, body } = called;
  if (id === "publishEvent") return `await webhookd.publish(${script(body)}, { idempotencyKey: "order-1042" });`;
  const of = idOf(called);
  const asked = [
    ...(of === null ? [] : [`id: ${JSON.stringify(of)}`]),
    ...(body === undefined ? [] : [`body: ${script(body)}`]),
  ];
  const more = asked.length === 0 ? "" : `, { ${asked.join(", ")} }`;
  if (isList) return `for await (const item of webhookd.every("${id}"${more})) console.log(item);`;
  return isJson
    ? `const answer = await webhookd.call("${id}"${more});`
    : `const text = await webhookd.text("${id}"${more});`;
}

function python(called: Called): string {
  const { id, isList, isJson, body } = called;
  if (id === "publishEvent") return `client.publish(${literal(body)}, idempotency_key="order-1042")`;
  const of = idOf(called);
  const more = [
    ...(of === null ? [] : [`id=${JSON.stringify(of)}`]),
    ...(body === undefined ? [] : [`body=${literal(body)}`]),
  ];
  const asked = [`"${id}"`, ...more].join(", ");
  if (isList) return `for item in client.every(${asked}):\n    print(item)`;
  return isJson ? `answer = client.call(${asked})` : `text = client.text(${asked})`;
}

/** JSON with the quotes of names left out where JavaScript needs none. */
function script(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, "$1$2:");
}

function literal(value: unknown): string {
  return JSON.stringify(value, null, 4).replaceAll(/(?<=[:[,]\s*)(true|false|null)(?=[\s,}\]])/g, (word) =>
    word === "true" ? "True" : word === "false" ? "False" : "None",
  );
}
