/**
 * Finds what is at a path that has parameters, or is no path of ours. Apart, because h3 makes Node load its fetch, which
 * takes a tenth of a start and 4 MiB: both wait for the first request that needs it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { H3, HTTPError } from "h3";
import { NodeRequest } from "srvx/node";
import { WebhookdError } from "../../domain/errors.ts";

/** Where a request goes. */
export interface Found<R> {
  readonly path: string;
  readonly search: string;
  readonly params: Readonly<Record<string, string>> | undefined;
  /** Undefined when there is nothing. */
  readonly resource: R | undefined;
}

/** `E` is what is kept with the request while its path is looked for. */
export interface Router<E> {
  find(req: IncomingMessage, res: ServerResponse, exchange: E): void;
}

export function createRouter<E, R>(
  resources: ReadonlyMap<string, R>,
  onFound: (exchange: E, found: Found<R>) => unknown,
  onError: (exchange: E, error: unknown) => void,
): Router<E> {
  interface Context {
    readonly exchange: E;
    readonly params?: Readonly<Record<string, string>>;
  }
  const h3 = new H3({
    silent: true,
    onError(error: HTTPError, { context }) {
      const cause = error.unhandled ? error.cause : error;
      const isTheirs = HTTPError.isError(cause) && cause.status < 500;
      const told = isTheirs ? new WebhookdError("bad_request", "the request target is malformed") : cause;
      onError((context as unknown as Context).exchange, told);
      return null;
    },
  });
  const route = (pattern: string, resource: R | undefined) => {
    h3.all(pattern, ({ url, context }) => {
      const { exchange, params } = context as unknown as Context;
      return onFound(exchange, { path: url.pathname, search: url.search, params, resource });
    });
  };
  for (const [path, resource] of resources) route(path, resource);
  route("/**", undefined);
  return {
    find: (req, res, exchange) =>
      void h3.fetch(Object.assign(new NodeRequest({ req, res }), { context: { exchange } })),
  };
}
