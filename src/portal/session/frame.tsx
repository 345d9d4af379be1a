/** The frame of every screen: the operator's name, the state of the connection, and the time until the link expires. */
import { useEffect, useState, useSyncExternalStore, type ReactNode } from "react";
import type { StreamMessage } from "../../client/stream.ts";
import { after, now } from "../server/clock.ts";
import { onWait, waitsUntil } from "../server/pace.ts";
import { stayLive, type Liveness } from "../server/live.ts";
import { At, useNow } from "../parts/time.tsx";
import { spanText } from "../parts/span.ts";
import { BackLink } from "./back-link.tsx";
import { nameOf } from "./dress.ts";
import { tellHost } from "./embed.ts";
import { SOON_MS } from "./renewal.ts";
import { usePath } from "./route.ts";
import { useSession } from "./session.ts";
import { TenantSwitch } from "./tenant-switch.tsx";
import { unawaited } from "../../domain/unawaited.ts";
import { t } from "../language/text.ts";
import { rich } from "../language/rich.tsx";

/** The page around a frame may have a name and a logo of its own. */
const IS_BARE = new URLSearchParams(location.search).get("header") === "off";

interface Props {
  readonly hasEnded: boolean;
  readonly end: () => void;
  readonly children: ReactNode;
}

export function Frame({ hasEnded, end, children }: Props) {
  const { portal } = useSession();
  const liveness = useLive(hasEnded, end);
  useExpiry(portal.expires_at, end);
  const back = portal.return_url;
  return (
    <>
      <a className="skip" href="#main" onClick={focusMain}>
        {t("frame.skipToTheContent")}
      </a>
      <header className="top">
        <div className="inner">
          {!IS_BARE && (
            <a className="brand" href="#/">
              {portal.logo_url !== null && <img src={portal.logo_url} alt="" height={24} />}
              <span dir="auto">{nameOf(portal)}</span>
            </a>
          )}
          {back !== null && (
            <BackLink
              className="back-out"
              to={back}
              label={t("frame.backTo", { name: portal.name === "" ? new URL(back).host : nameOf(portal) })}
            >
              {t("frame.back")}
            </BackLink>
          )}
          <Sections />
          <span className="grow" />
          {portal.tenant === "*" && <TenantSwitch />}
          <LiveMark liveness={liveness} />
        </div>
      </header>
      {portal.expires_at !== null && <ExpiryBanner at={Date.parse(portal.expires_at)} back={portal.return_url} />}
      <WaitBanner />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Foot />
    </>
  );
}

function Foot() {
  const { footer, terms_url: terms, help_url: help } = useSession().portal;
  const links = [[t("frame.help"), help] as const, [t("frame.terms"), terms] as const];
  if (footer === "" && help === null && terms === null) return null;
  return (
    <footer className="foot">
      <div className="inner">
        {footer !== "" && <span dir="auto">{footer}</span>}
        {links.map(
          ([word, to]) =>
            to !== null && (
              <a key={word} href={to} target="_blank" rel="noopener noreferrer" referrerPolicy="no-referrer">
                {word}
              </a>
            ),
        )}
      </div>
    </footer>
  );
}

const SECTIONS = [
  ["", "common.endpoints"],
  ["deliveries", "common.deliveries"],
  ["types", "common.eventTypes"],
] as const;

function Sections() {
  const { portal } = useSession();
  const [first = ""] = usePath();
  // The API lists the deliveries of one endpoint, or of all that the tenant has.
  const isForSome = portal.endpoints !== null && portal.endpoints.length > 1;
  return (
    <nav className="sections" aria-label={t("frame.sections")}>
      {SECTIONS.filter(([path]) => !(isForSome && path === "deliveries")).map(([path, word]) => (
        <a
          key={path}
          href={`#/${path}`}
          aria-current={(path === "" ? !/^(deliveries|types)$/.test(first) : first === path) ? "page" : undefined}
        >
          {t(word)}
        </a>
      ))}
    </nav>
  );
}

/** The fragment is the route, so a link within the page needs a handler rather than a target. */
function focusMain(event: { preventDefault(): void }) {
  event.preventDefault();
  document.getElementById("main")!.focus();
}

function useLive(hasEnded: boolean, end: () => void): Liveness {
  const { client, reads, tenant } = useSession();
  const [liveness, setLiveness] = useState<Liveness>("connecting");
  useEffect(() => {
    if (hasEnded) return;
    const leaving = new AbortController();
    const hearers = {
      changed: (endpoint: string | null) => reads.changed(endpoint),
      told: (message: StreamMessage) => reads.told(message),
      streams: () => reads.streams(),
      is: setLiveness,
      ended: end,
    };
    unawaited(stayLive(client, { tenant }, hearers, leaving.signal));
    return () => leaving.abort();
  }, [client, reads, tenant, hasEnded, end]);
  return liveness;
}

function useExpiry(expiresAt: string | null, end: () => void): void {
  useEffect(() => {
    if (expiresAt === null) return;
    return after(Math.max(0, Date.parse(expiresAt) - now()), end);
  }, [expiresAt, end]);
}

const WORDS = {
  connecting: ["live.connecting", "live.connectingMore"],
  live: ["live.live", "live.liveMore"],
  broken: ["live.reconnecting", "live.reconnectingMore"],
} as const;

function LiveMark({ liveness }: { liveness: Liveness }) {
  const [word, title] = WORDS[liveness];
  return (
    <span className={`live ${liveness}`} title={t(title)} role="status">
      <i aria-hidden="true" />
      <span>{t(word)}</span>
    </span>
  );
}

/** Says that everything waits, because the daemon asks for fewer requests. */
function WaitBanner() {
  const until = useSyncExternalStore(onWait, waitsUntil);
  if (until === 0) return null;
  return (
    <div className="banner warn">
      <div className="inner" role="status">
        {rich("frame.tooMany", { at: <At at={new Date(until).toISOString()} /> })}
      </div>
    </div>
  );
}

function ExpiryBanner({ at, back }: { at: number; back: string | null }) {
  const left = at - useNow();
  const endsSoon = left <= SOON_MS && left > 0;
  useEffect(() => {
    if (endsSoon) tellHost({ portal: "expiring", expires_at: new Date(at).toISOString() });
  }, [endsSoon, at]);
  if (!endsSoon) return null;
  return (
    <div className="banner warn">
      <div className="inner">
        {/* Screen readers must read this once, not every second. */}
        <span role="status">{t("frame.thisLinkIsAboutTo")}</span>{" "}
        <span>{t("frame.worksFor", { span: spanText(left) })}</span>{" "}
        {back !== null && (
          <BackLink to={back} keeps>
            {t("frame.getANewOne")}
          </BackLink>
        )}
      </div>
    </div>
  );
}
