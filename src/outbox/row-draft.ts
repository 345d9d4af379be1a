/** Makes an event of a row of an outbox, by the rules that a request to publish is checked by. */
import { createHash } from "node:crypto";
import { readEvent, type DraftRules } from "../api/publishing/event-draft.ts";
import { WebhookdError } from "../domain/errors.ts";
import { ALERT_TENANT } from "../domain/alert.ts";
import { outboxKey } from "../domain/outbox/key.ts";
import { isTenant } from "../domain/id.ts";
import { scanJson } from "../domain/json/json.ts";
import type { OutboxRow, OutboxSettings } from "../domain/outbox/outbox.ts";

export type RowRules = Omit<DraftRules, "tenantFor" | "trace" | "warnings">;

/** A longer id would not fit into a key of idempotency. */
const MAX_ID = 200;
/** A longer problem is cut, because it is stored in the application's table. */
const MAX_PROBLEM = 500;

/**
 * The row cannot become an event. The message says why, in ASCII: it is written into the application's table, and a
 * character that its database refuses would keep all rows back.
 */
export class RowProblem extends Error {
  /** True if other nodes may know the type of the row. */
  readonly isAboutType: boolean;

  constructor(message: string, isAboutType = false) {
    super(message.replaceAll(/[^\x20-\x7e]/g, escaped).slice(0, MAX_PROBLEM));
    this.isAboutType = isAboutType;
  }
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Throws `RowProblem`. */
export function draftOf(row: OutboxRow, { name, tenant }: Pick<OutboxSettings, "name" | "tenant">, rules: RowRules) {
  const owner = "name" in tenant ? tenant.name : tenantIn(row, tenant.column);
  const body = bodyOf(row, rules.maxEventBytes);
  const key = outboxKey(name, digestOf(row, owner), row.id);
  try {
    return readEvent(body, { ...rules, tenantFor: () => owner, trace: undefined }, key);
  } catch (error) {
    throw problemOf(error);
  }
}

export function problemOf(error: unknown): unknown {
  if (!(error instanceof WebhookdError)) return error;
  return new RowProblem(
    error.detail,
    error.errors.some(({ code }) => code === "unknown_event_type"),
  );
}

function tenantIn({ tenant }: OutboxRow, column: string): string {
  if (tenant === null) throw new RowProblem(`${column} is null`);
  if (isTenant(tenant) && tenant !== ALERT_TENANT) return tenant;
  throw new RowProblem(`${column} is not the name of a tenant`);
}

/** Writes the row as the body of a request. */
function bodyOf(row: OutboxRow, maxBytes: number): Buffer {
  const { id, type, data, dataBytes, tags } = row;
  if (id.length > MAX_ID) throw new RowProblem(`id is longer than ${MAX_ID} characters`);
  if (type === null) throw new RowProblem("type is null");
  if (dataBytes === null) throw new RowProblem("data is null");
  const fields = Object.entries({
    type,
    created_at: row.createdAt,
    publisher_id: row.publisherId,
    ordering_key: row.orderingKey,
  })
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `"${name}":${JSON.stringify(value)},`);
  if (tags !== null) fields.push(`"tags":${arrayText(tags)},`);
  const head = Buffer.from(`{${fields.join("")}"data":`);
  if (data === null || head.length + data.length >= maxBytes) {
    throw new RowProblem(`the event is larger than ${maxBytes} bytes (${dataBytes} bytes of data)`);
  }
  return Buffer.concat([head, checked("data", "object", data), Buffer.from("}")]);
}

function arrayText(tags: string): string {
  checked("tags", "array", Buffer.from(tags));
  return tags;
}

/** The text goes into the body as it is, so it must be one value, and not close the body and go on. */
function checked(column: string, kind: "object" | "array", text: Uint8Array): Buffer {
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  let found: string;
  try {
    found = scanJson(bytes).kind;
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
    throw new RowProblem(`${column} is not valid JSON: ${error.detail}`);
  }
  if (found !== kind) throw new RowProblem(`${column} is not a JSON ${kind}`);
  return bytes;
}

/** Enough that no two rows have the same by chance. */
const DIGEST_CHARS = 22;

/**
 * The content belongs to the key, because a database that was restored or a table that was made anew may give the same
 * id to another row.
 */
function digestOf({ type, data, ...row }: OutboxRow, tenant: string): string {
  const about = [tenant, type, row.createdAt, row.publisherId, row.tags, row.orderingKey];
  const hash = createHash("sha256").update(JSON.stringify(about));
  return hash.update(data!).digest("base64url").slice(0, DIGEST_CHARS);
}
