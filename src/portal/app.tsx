/** Opens a session with the key, and shows the screens in it. */
import { useCallback, useEffect, useMemo, useState } from "react";
import { createClient, type Client } from "../client/client.ts";
import type { ClientError } from "../client/error.ts";
import type { Portal } from "../client/operations.ts";
import { Reads } from "./server/reads.ts";
import { Frame } from "./session/frame.tsx";
import { dress } from "./session/dress.ts";
import { Ended, Welcome } from "./session/gate.tsx";
import { forgetKey, keepKey, takeKey } from "./session/key.ts";
import { SessionContext, type Session } from "./session/session.ts";
import { Notices } from "./parts/notice.tsx";
import { Screens } from "./screens.tsx";
import { unawaited } from "../domain/unawaited.ts";

/** A proxy may serve `/portal` under a path of its own. */
const BASE = new URL(location.pathname.replace(/\/portal\/?$/, "/"), location.origin);

type Stage =
  | { readonly is: "empty"; readonly fault?: ClientError }
  | { readonly is: "opening"; readonly key: string }
  | { readonly is: "open"; readonly key: string; readonly portal: Portal }
  | { readonly is: "ended"; readonly portal: Portal };

/** `first` is the key of the link that the page was opened with. */
export function App({ first }: { first: string | null }) {
  const [stage, setStage] = useState<Stage>(first === null ? { is: "empty" } : { is: "opening", key: first });
  const open = useCallback((key: string) => setStage({ is: "opening", key }), []);
  useLinks(open);
  useOpening(stage, setStage);
  const end = useCallback(() => {
    forgetKey();
    setStage((now) => (now.is === "open" ? { is: "ended", portal: now.portal } : now));
  }, []);
  switch (stage.is) {
    case "empty":
      return <Welcome fault={stage.fault} open={open} />;
    case "opening":
      return <div className="opening" role="status" aria-label="Loading" />;
    case "ended":
      return <Ended portal={stage.portal} />;
    case "open":
      return <Opened key={stage.key} token={stage.key} portal={stage.portal} end={end} />;
  }
}

/** Opening a link in a tab where the page is already open changes only the fragment. */
function useLinks(open: (key: string) => void): void {
  useEffect(() => {
    const listener = () => {
      if (!location.hash.startsWith("#whk_")) return;
      const key = takeKey();
      if (key !== null) open(key);
    };
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, [open]);
}

function useOpening(stage: Stage, setStage: (stage: Stage) => void): void {
  const key = stage.is === "opening" ? stage.key : null;
  useEffect(() => {
    if (key === null) return;
    const leaving = new AbortController();
    unawaited(
      clientFor(key)
        .call("getPortal", { signal: leaving.signal })
        .then(
          (portal) => {
            if (portal.expires_at !== null) keepKey(key);
            dress(portal);
            setStage({ is: "open", key, portal });
          },
          (fault: ClientError) => {
            if (leaving.signal.aborted) return;
            if (fault.failure === "not_allowed") forgetKey();
            setStage({ is: "empty", fault });
          },
        ),
    );
    return () => leaving.abort();
  }, [key, setStage]);
}

function clientFor(key: string): Client {
  return createClient({ url: BASE, key }, { version: "portal" });
}

function Opened({ token, portal, end }: { token: string; portal: Portal; end: () => void }) {
  const [tenant, chooseTenant] = useState<string | undefined>();
  const client: Client = useMemo(() => clientFor(token), [token]);
  // Another tenant gets other responses, so old ones must not be shown again.
  const reads = useMemo(() => new Reads(client, end), [client, end]);
  const session: Session = useMemo(
    () => ({ portal, client, reads, tenant, chooseTenant }),
    [portal, client, reads, tenant],
  );
  return (
    <SessionContext value={session}>
      <Notices>
        <Frame end={end}>
          <Screens />
        </Frame>
      </Notices>
    </SessionContext>
  );
}
