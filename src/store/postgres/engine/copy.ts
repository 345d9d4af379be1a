/** Rows by the thousand: COPY, over a connection of its own that may take its time. */
import type { Client, ClientConfig, Connection } from "pg";
import { configsOf, connect } from "./session.ts";

/** To the first host that takes writes; whoever asks closes it. */
export async function connectAlone(url: string): Promise<Client> {
  const configs = configsOf(url).map((config): ClientConfig => ({ ...config, pipeline: false, query_timeout: 0 }));
  return connect(configs, { idle_in_transaction_session_timeout: "0", statement_timeout: "0" }, () => {});
}

type Value = number | string | Uint8Array | null;

const ESCAPED: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** A row as COPY takes it, without the end of the line. */
export function lineOf(row: readonly Value[]): string {
  let line = "";
  for (let at = 0; at < row.length; at++) {
    if (at > 0) line += "\t";
    const value = row[at]!;
    if (value === null) line += "\\N";
    else if (typeof value === "number") line += value;
    else if (typeof value === "string") line += value.replaceAll(/[\\\t\n\r]/g, (char) => ESCAPED[char]!);
    else line += `\\\\x${Buffer.from(value.buffer, value.byteOffset, value.length).toString("hex")}`;
  }
  return line;
}

/** Lines with their ends. */
export function copyIn(client: Client, table: string, columns: readonly string[], lines: string): Promise<void> {
  const names = columns.map((name) => `"${name}"`).join();
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(`COPY ${table} (${names}) FROM STDIN`, lines, { resolve, reject }));
  });
}

/** What the types of the driver leave out. */
interface Wire {
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
}

interface Ends {
  resolve(): void;
  reject(error: Error): void;
}

/** What the driver calls for a query of this kind, which it knows nothing else of. */
class CopyIn {
  readonly #sql: string;
  readonly #lines: string;
  readonly #ends: Ends;

  constructor(sql: string, lines: string, ends: Ends) {
    this.#sql = sql;
    this.#lines = lines;
    this.#ends = ends;
  }

  submit(connection: Connection): void {
    connection.query(this.#sql);
  }

  handleCopyInResponse(wire: Wire): void {
    wire.sendCopyFromChunk(Buffer.from(this.#lines));
    wire.endCopyFrom();
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#ends.reject(error);
  }

  handleReadyForQuery(): void {
    this.#ends.resolve();
  }
}
