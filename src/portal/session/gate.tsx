/** Shows the screens without a session: before a link is opened, and after it has expired. */
import { useState, type FormEvent } from "react";
import type { ClientError } from "../../client/error.ts";
import { NEGLIGIBLE_MS, now } from "../server/clock.ts";
import { faultText } from "../language/api.ts";
import { Button } from "../parts/button.tsx";
import { BackLink } from "./back-link.tsx";
import { nameOf } from "./dress.ts";
import type { Left } from "./left.ts";
import { t } from "../language/text.ts";

export function Welcome({ fault, open }: { fault: ClientError | undefined; open: (key: string) => void }) {
  const refused = fault?.failure === "not_allowed";
  return (
    <main className="gate">
      <h1>{refused ? t("gate.noLonger") : t("gate.open")}</h1>
      <p>{refused ? t("gate.refused") : t("gate.where")}</p>
      {refused && <p>{t("gate.goBackToTheApplication")}</p>}
      {fault !== undefined && !refused && (
        <p className="alert bad" role="alert">
          {faultText(fault)} {t("gate.tryAgain")}
        </p>
      )}
      <KeyForm open={open} />
    </main>
  );
}

function KeyForm({ open }: { open: (key: string) => void }) {
  const [key, setKey] = useState("");
  const [wrong, setWrong] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const typed = key.trim();
    if (/^whk_[A-Za-z0-9_-]+$/.test(typed)) open(typed);
    else setWrong(true);
  };
  return (
    <details className="operator">
      <summary>{t("gate.iRunThisServiceAnd")}</summary>
      <form onSubmit={submit} className="row-form" noValidate>
        <label htmlFor="key">{t("gate.key")}</label>
        <input
          id="key"
          type="password"
          autoComplete="off"
          spellCheck={false}
          placeholder="whk_…"
          value={key}
          aria-invalid={wrong}
          aria-describedby="key-help"
          onChange={(event) => (setKey(event.target.value), setWrong(false))}
        />
        <Button kind="primary" type="submit">
          {t("gate.openIt")}
        </Button>
        <p id="key-help" className={wrong ? "help wrong" : "help"} role={wrong ? "alert" : undefined}>
          {wrong ? t("gate.keyBegins") : t("gate.keyStays", { command: "webhookd portal link TENANT" })}
        </p>
      </form>
    </details>
  );
}

interface EndedProps {
  readonly left: Left;
  /** True if the screen is kept, and a new link goes on with it. */
  readonly keeps: boolean;
}

export function Ended({ left, keeps }: EndedProps) {
  const back = left.return_url;
  // The daemon may have noticed the expiry first.
  const expired = left.expires_at !== null && Date.parse(left.expires_at) <= now() + NEGLIGIBLE_MS;
  return (
    <main className="gate">
      <div role="alert">
        <h1>{expired ? t("gate.expired") : t("gate.noLonger")}</h1>
        <p>
          {expired ? t("gate.shortTime") : t("gate.expiredOrRevoked")} {t("gate.notAffected")}
        </p>
        {keeps && <p>{t("gate.whatYouTypedHereIs")}</p>}
      </div>
      {back === null ? (
        <p>{t("gate.goBackToTheApplication")}</p>
      ) : (
        <p>
          <BackLink className="button primary" to={back} keeps={keeps}>
            {left.name === "" ? t("gate.backToApp") : t("frame.backTo", { name: nameOf(left) })}
          </BackLink>
        </p>
      )}
    </main>
  );
}
