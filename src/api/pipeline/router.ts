/**
 * Finds the resource at a path with parameters. This is a separate file because importing h3 makes Node load its fetch,
 * which takes a tenth of the start-up time and 4 MiB. Both wait for the first request that needs them.
 */
import { H3, H3Event } from "h3";

/** The result of a lookup. */
export interface Found<R> {
  /** The path without needless percent-encoding. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>> | undefined;
  /** Undefined if nothing is served there. */
  readonly resource: R | undefined;
}

/** The path must begin with a slash. */
export type FindResource<R> = (path: string) => Found<R>;

type ServerRequest = ConstructorParameters<typeof H3Event>[0];

export function createRouter<R>(resources: ReadonlyMap<string, R>): FindResource<R> {
  const h3 = new H3();
  const route = (pattern: string, resource: R | undefined) => {
    h3.all(pattern, ({ url, context: { params } }): Found<R> => ({ path: url.pathname, params, resource }));
  };
  for (const [path, resource] of resources) route(path, resource);
  route("/**", undefined);
  // Pass only the path: h3 would build a URL from the client's Host, and throw if that is invalid. The resource checks
  // the method.
  return (path) => h3.handler(new H3Event({ method: "GET", url: path } as ServerRequest)) as Found<R>;
}
