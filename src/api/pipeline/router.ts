/**
 * Finds what is at a path that has parameters, or is no path of ours. Apart, because h3 makes Node load its fetch, which
 * takes a tenth of a start and 4 MiB: both wait for the first request that needs it.
 */
import { H3, H3Event } from "h3";

/** Where a request goes. */
export interface Found<R> {
  /** As URLs are written: what needs no percent-encoding has none. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>> | undefined;
  /** Undefined when there is nothing. */
  readonly resource: R | undefined;
}

/** Takes a path that begins with a slash. */
export type FindResource<R> = (path: string) => Found<R>;

type ServerRequest = ConstructorParameters<typeof H3Event>[0];

export function createRouter<R>(resources: ReadonlyMap<string, R>): FindResource<R> {
  const h3 = new H3();
  const route = (pattern: string, resource: R | undefined) => {
    h3.all(pattern, ({ url, context: { params } }): Found<R> => ({ path: url.pathname, params, resource }));
  };
  for (const [path, resource] of resources) route(path, resource);
  route("/**", undefined);
  // The path alone: with the Host that a client sent, h3 would make a URL, and throw where that is none. Its methods are
  // the resource's.
  return (path) => h3.handler(new H3Event({ method: "GET", url: path } as ServerRequest)) as Found<R>;
}
