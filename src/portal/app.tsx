/** Opens a session with the key, and shows the screens in it. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { createClient, type Client } from "../client/client.ts";
import type { ClientError } from "../client/error.ts";
import type { Portal } from "../client/operations.ts";
import { Reads } from "./server/reads.ts";
import { Frame } from "./session/frame.tsx";
import { dress } from "./session/dress.ts";
import { tellHost, useHost } from "./session/embed.ts";
import { Ended, Welcome } from "./session/gate.tsx";
import { forgetKey, keepKey, keptKey, takeKey } from "./session/key.ts";
import { forgetLeft, keepLeft, type Left, leftOf, readLeft } from "./session/left.ts";
import { scopeOf, useHandedKeys } from "./session/renewal.ts";
import { go, shownHash } from "./session/route.ts";
import { SessionContext, type Session } from "./session/session.ts";
import { Notices } from "./parts/notice.tsx";
import { Screens } from "./screens.tsx";
import { unawaited } from "../domain/unawaited.ts";
import { t } from "./language/text.ts";

/** A proxy may serve `/portal` under a path of its own. */
const BASE = new URL(location.pathname.replace(/\/portal\/?$/, "/"), location.origin);

/**
 * The address that requests go to, and the key they carry. A new link replaces the key, and the screen stays as it is.
 */
interface Access {
  readonly url: URL;
  key: string;
}

type Stage =
  | { readonly is: "empty"; readonly fault?: ClientError }
  /** After a reload, the page still knows whose link has ended. */
  | { readonly is: "left"; readonly left: Left }
  | { readonly is: "opening"; readonly key: string }
  | { readonly is: "open"; readonly access: Access; readonly portal: Portal; readonly hasEnded: boolean };

function firstStage(key: string | null): Stage {
  if (key !== null) return { is: "opening", key };
  const left = readLeft();
  return left === null ? { is: "empty" } : { is: "left", left };
}

/** `first` is the key of the link that the page was opened with. */
export function App({ first }: { first: string | null }) {
  const [stage, setStage] = useState<Stage>(() => firstStage(first));
  const latest = useRef(stage);
  latest.current = stage;
  const open = useCallback((key: string) => {
    if (latest.current.is === "open") unawaited(renew(latest.current, key, setStage));
    else setStage({ is: "opening", key });
  }, []);
  useLinks(open);
  useHost(open);
  const isRefused = stage.is === "empty" && stage.fault?.failure === "not_allowed";
  const is = isRefused || (stage.is === "open" && stage.hasEnded) ? "ended" : stage.is;
  useEffect(() => {
    if (is === "open") tellHost({ portal: "ready" });
    if (is === "ended" || is === "left") tellHost({ portal: "ended" });
  }, [is]);
  const tell = useHandedKeys(open, stage.is === "open" ? stage : stage.is === "left" ? { left: stage.left } : null);
  useOpening(stage, setStage);
  const key = stage.is === "open" && !stage.hasEnded && stage.portal.expires_at !== null ? stage.access.key : null;
  useEffect(() => (key === null ? undefined : tell(key)), [tell, key]);
  const end = useCallback(() => {
    forgetKey();
    setStage((now) => (now.is === "open" ? { ...now, hasEnded: true } : now));
  }, []);
  switch (stage.is) {
    case "empty":
      return <Welcome fault={stage.fault} open={open} />;
    case "left":
      return <Ended left={stage.left} keeps={false} />;
    case "opening":
      return <div className="opening" role="status" aria-label={t("common.loading")} />;
    case "open":
      return <Opened key={scopeOf(stage.portal)} {...stage} end={end} />;
  }
}

/** Opening a link in a tab where the page is already open changes only the fragment. */
function useLinks(open: (key: string) => void): void {
  useEffect(() => {
    const listener = () => {
      if (!location.hash.startsWith("#whk_")) return;
      const key = takeKey(shownHash());
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
      clientFor({ url: BASE, key })
        .call("getPortal", { signal: leaving.signal })
        .then(
          (portal) => setStage(opened(key, portal)),
          (fault: ClientError) => {
            if (leaving.signal.aborted) return;
            const left = readLeft();
            // A reload may try the same link again, but must not open an earlier one.
            if (fault.failure === "not_allowed" || keptKey() !== key) forgetKey();
            setStage(fault.failure === "not_allowed" && left !== null ? { is: "left", left } : { is: "empty", fault });
          },
        ),
    );
    return () => leaving.abort();
  }, [key, setStage]);
}

function opened(key: string, portal: Portal, access: Access = { url: BASE, key }): Stage {
  access.key = key;
  if (portal.expires_at === null) {
    // After a reload, somebody with such a key must be able to paste it again.
    forgetKey();
    forgetLeft();
  } else {
    keepKey(key);
    keepLeft(leftOf(portal));
  }
  dress(portal);
  return { is: "open", access, portal, hasEnded: false };
}

type Open = Extract<Stage, { is: "open" }>;

/** A new link for the same endpoints goes on with the same screen, and with what was typed there. */
async function renew({ access, portal: before }: Open, key: string, setStage: (stage: Stage) => void): Promise<void> {
  try {
    const portal = await clientFor({ url: BASE, key }).call("getPortal");
    const isSame = scopeOf(portal) === scopeOf(before);
    // The fragment may name an endpoint that this link does not show.
    if (!isSame) go("");
    setStage(opened(key, portal, isSame ? access : undefined));
  } catch {
    // A link that does not work changes nothing: the session goes on, or has ended.
  }
}

function clientFor(access: Access): Client {
  return createClient(access, { version: "portal" });
}

function Opened({ access, portal, hasEnded, end }: Open & { end: () => void }) {
  const [tenant, chooseTenant] = useState<string | undefined>();
  const client: Client = useMemo(() => clientFor(access), [access]);
  // Another tenant gets other responses, so old ones must not be shown again.
  const reads = useMemo(() => new Reads(client, end), [client, end]);
  const session: Session = useMemo(
    () => ({ portal, client, reads, tenant, chooseTenant }),
    [portal, client, reads, tenant],
  );
  useEffect(() => {
    if (hasEnded) reads.halt();
    else reads.goOn();
  }, [reads, hasEnded]);
  return (
    <SessionContext value={session}>
      <Notices>
        {hasEnded && <Ended left={leftOf(portal)} keeps />}
        <div hidden={hasEnded}>
          <Frame hasEnded={hasEnded} end={end}>
            <Screens />
          </Frame>
        </div>
      </Notices>
    </SessionContext>
  );
}
