/** Shows the screens without a session: before a link is opened, and after it has expired. */
import { useState, type FormEvent } from "react";
import type { ClientError } from "../../client/error.ts";
import { NEGLIGIBLE_MS, now } from "../server/clock.ts";
import { Button } from "../parts/button.tsx";
import { BackLink } from "./back-link.tsx";
import { nameOf } from "./dress.ts";
import type { Left } from "./left.ts";

export function Welcome({ fault, open }: { fault: ClientError | undefined; open: (key: string) => void }) {
  const refused = fault?.failure === "not_allowed";
  return (
    <main className="gate">
      <h1>{refused ? "This link no longer works" : "Open this page with a link"}</h1>
      <p>
        {refused
          ? "It has expired, or it was revoked. Your endpoints are not affected: events keep arriving."
          : "This is where you manage the endpoints that events are sent to. The application that sends them gives you a link to this page, usually in its settings."}
      </p>
      {refused && <p>Go back to the application you came from, and open a new link there.</p>}
      {fault !== undefined && !refused && (
        <p className="alert bad" role="alert">
          {fault.message} Try again in a moment.
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
      <summary>I run this service and have a key</summary>
      <form onSubmit={submit} className="row-form" noValidate>
        <label htmlFor="key">Key</label>
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
          Open
        </Button>
        <p id="key-help" className={wrong ? "help wrong" : "help"} role={wrong ? "alert" : undefined}>
          {wrong
            ? "A key begins with whk_."
            : "The key stays in this tab's memory, and a reload forgets it. To make a link for a customer, run “webhookd portal link TENANT”."}
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
        <h1>{expired ? "This link has expired" : "This link no longer works"}</h1>
        <p>
          {expired ? "Links to this page work only for a short time." : "It has expired, or it was revoked."} Your
          endpoints are not affected: events keep arriving, and anything you started continues.
        </p>
        {keeps && (
          <p>
            What you typed here is kept. Open a new link in another tab of this browser, and this page goes on where you
            were.
          </p>
        )}
      </div>
      {back === null ? (
        <p>Go back to the application you came from, and open a new link there.</p>
      ) : (
        <p>
          <BackLink className="button primary" to={back} keeps={keeps}>
            Back to {left.name === "" ? "the application" : nameOf(left)}
          </BackLink>
        </p>
      )}
    </main>
  );
}
