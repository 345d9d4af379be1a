/** Says why an event that is not in the list of deliveries did not arrive. */
import { useState } from "react";
import { isId } from "../../domain/id.ts";
import { unawaited } from "../../domain/unawaited.ts";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Trouble } from "../parts/states.tsx";
import { useCall } from "../session/session.ts";
import { t } from "../language/text.ts";
import { reasonFor } from "../language/api.ts";

export function MissingEvent({ endpoint }: { endpoint: string }) {
  const [named, setNamed] = useState("");
  const [answer, setAnswer] = useState<string | null>(null);
  const [act, call] = [useAct(), useCall()];
  const ask = () =>
    act.run(async () => {
      setAnswer(null);
      const text = named.trim();
      const found = isId("evt", text) ? null : await call("listEvents", { query: { publisher_id: text, limit: 1 } });
      const id = found === null ? text : found.data[0]?.id;
      if (id === undefined) return setAnswer(t("missing.none"));
      setAnswer(reasonFor(await call("explainEvent", { id, query: { endpoint } })));
    });
  return (
    <details className="field">
      <summary>{t("missing.isAnEventMissingHere")}</summary>
      <form
        className="stack"
        onSubmit={(submitted) => {
          submitted.preventDefault();
          unawaited(ask());
        }}
      >
        <label htmlFor="missing-event">{t("missing.itsIdOrThePublishers")}</label>
        <input
          id="missing-event"
          value={named}
          required
          maxLength={128}
          autoComplete="off"
          spellCheck={false}
          onChange={({ target }) => setNamed(target.value)}
        />
        <div className="actions start">
          <Button type="submit" busy={act.busy}>
            {t("missing.whyDidItNotArrive")}
          </Button>
        </div>
        <div role="status">{answer !== null && <p>{answer}</p>}</div>
        {act.fault && <Trouble fault={act.fault} />}
      </form>
    </details>
  );
}
