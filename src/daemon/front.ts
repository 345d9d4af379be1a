/** Opens and closes the listeners of the API: the TCP port and the unix socket. */
import type { createApi } from "../api/api.ts";
import { openInherited, openListener, type TcpListener } from "../api/server/listen.ts";
import { closeAll, type Listener, type ListenerParts } from "../api/server/listener.ts";
import { openSocket } from "../api/server/socket.ts";
import type { Config } from "../config.ts";
import type { Log } from "../log.ts";

type Api = ReturnType<typeof createApi>;
type Certificate = Parameters<typeof openListener>[1]["certificate"];

/** The time that open requests may take when the daemon stops listening. */
const CLOSE_DEADLINE_MS = 2000;

export interface FrontParts {
  readonly config: Config;
  readonly api: Api;
  readonly log: Log;
  /** The descriptor of a TCP socket that is already listening. Null to open one. */
  readonly listenFd: number | null;
  readonly certificate: Certificate;
}

export class Front {
  readonly tcp: TcpListener;
  readonly socket: Listener | null;

  private constructor(tcp: TcpListener, socket: Listener | null) {
    this.tcp = tcp;
    this.socket = socket;
  }

  static async open({ config, api, log, listenFd, certificate }: FrontParts): Promise<Front> {
    const web: ListenerParts = { log, reject: api.reject };
    // Open the socket first: a command that finds no socket uses the port, where it needs a key.
    const socket = await openOptionalSocket(config, api, web);
    const place = { ...config.server.listen, ...web, plain: api.plain, certificate };
    try {
      const tcp = await (listenFd === null
        ? openListener(api.handler(false), place)
        : openInherited(api.handler(false), { ...place, fd: listenFd }));
      return new Front(tcp, socket);
    } catch (error) {
      await socket?.close(CLOSE_DEADLINE_MS);
      throw error;
    }
  }

  /** `onClosed` is called once no more connections are accepted. */
  close(onClosed: () => void): Promise<void> {
    const listeners = this.socket === null ? [this.tcp] : [this.tcp, this.socket];
    return closeAll(listeners, CLOSE_DEADLINE_MS, onClosed);
  }
}

async function openOptionalSocket(config: Config, api: Api, web: ListenerParts): Promise<Listener | null> {
  const { socket: path, socketMode: mode, socketGroup: group } = config.server;
  const opened =
    path === ""
      ? { refused: "every path for it would be too long" }
      : await openSocket(api.handler(true), { path, mode, group, ...web });
  if (!("refused" in opened)) return opened;
  web.log.warn({ path }, `there is no unix socket (${opened.refused}): CLI and TUI need --url`);
  return null;
}
