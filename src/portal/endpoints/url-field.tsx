/** The field for the URL of an endpoint. The daemon checks it as the person types. */
import { useEffect, useRef, useState } from "react";
import { ClientError } from "../../client/error.ts";
import type { Endpoint } from "../../client/operations.ts";
import { after } from "../server/clock.ts";
import { inTenant, useSession } from "../session/session.ts";
import { refusalOf } from "./draft.ts";
import { unawaited } from "../../domain/unawaited.ts";
import { t } from "../language/text.ts";

interface Props {
  readonly url: string;
  readonly before: Endpoint | null;
  /** The daemon's refusal of the URL when the form was sent. */
  readonly refusal: string | undefined;
  readonly change: (url: string) => void;
}

const PAUSE_MS = 350;

export function UrlField({ url, before, refusal, change }: Props) {
  const judged = useJudged(url.trim(), before);
  const wrong = judged?.refusal ?? (judged?.good ? undefined : refusal);
  return (
    <div className="field">
      <label htmlFor="url">{t("url.url")}</label>
      <input
        id="url"
        className="code"
        type="url"
        inputMode="url"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        placeholder={"https://example.com/webhooks"}
        value={url}
        required
        aria-invalid={wrong !== undefined}
        aria-describedby="url-help"
        onChange={({ target }) => change(target.value)}
      />
      <p id="url-help" role="status" className={`help ${wrong ? "wrong" : judged?.good ? "right" : ""}`}>
        {wrong ?? (judged?.good ? t("url.looksRight") : t("url.help"))}
      </p>
    </div>
  );
}

interface Judged {
  readonly url: string;
  readonly good: boolean;
  readonly refusal?: string;
}

/** Returns the daemon's verdict, or null before there is one for this URL. */
function useJudged(url: string, before: Endpoint | null): Judged | null {
  const { client, tenant } = useSession();
  const [judged, setJudged] = useState<Judged | null>(null);
  const first = useRef(url);
  const id = before?.id;
  useEffect(() => {
    if (url === "" || url === first.current) return;
    const leaving = new AbortController();
    const ask = async () => {
      // The daemon always refuses a request without an event type, so it registers and changes nothing. The refusal
      // also lists any mistake in the URL.
      const body = { url, events: [] };
      const operation = id === undefined ? "registerEndpoint" : "changeEndpoint";
      try {
        const asked = { ...(id !== undefined && { id }), body, signal: leaving.signal };
        await client.call(operation, inTenant(asked, tenant));
      } catch (error) {
        if (leaving.signal.aborted || !(error instanceof ClientError) || error.code !== "validation_failed") return;
        const refusal = refusalOf(error, "/url");
        setJudged({ url, good: refusal === undefined, ...(refusal !== undefined && { refusal }) });
      }
    };
    const cancel = after(PAUSE_MS, () => unawaited(ask()));
    return () => (cancel(), leaving.abort());
  }, [client, tenant, url, id]);
  return judged?.url === url ? judged : null;
}
