/** Sends rows by the thousand with COPY, over a separate connection without time limits. */
import type { Client, ClientConfig, Connection } from "pg";
import { configsOf, connect } from "./session.ts";

/** Connects to the first host that accepts writes. The caller closes the connection. */
export async function connectAlone(url: string): Promise<Client> {
  const configs = configsOf(url).map((config): ClientConfig => ({ ...config, pipeline: false, query_timeout: 0 }));
  return connect(configs, { idle_in_transaction_session_timeout: "0", statement_timeout: "0" }, () => {});
}

type Value = number | string | Uint8Array | null;

const ESCAPED: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** Returns a row in COPY's format, without the end of the line. */
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

/** Lines include their line ends. */
export function copyIn(client: Client, table: string, columns: readonly string[], lines: string): Promise<void> {
  const names = columns.map((name) => `"${name}"`).join();
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(`COPY ${table} (${names}) FROM STDIN`, lines, { resolve, reject }));
  });
}

/** Methods that the driver has, but its types leave out. */
interface Wire {
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
}

interface Ends {
  resolve(): void;
  reject(error: Error): void;
}

/** The methods that the driver calls for a query of a kind that it does not know. */
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
