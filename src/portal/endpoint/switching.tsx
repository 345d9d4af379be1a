/** Buttons that disable, enable and delete an endpoint. */
import { useState } from "react";
import type { EndpointWithHealth } from "../../client/operations.ts";
import { counted } from "../../domain/wording.ts";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Question } from "../parts/dialog.tsx";
import { useNotice } from "../parts/notice.tsx";
import { spanText } from "../parts/span.ts";
import { Trouble } from "../parts/states.tsx";
import { go } from "../session/route.ts";
import { useCall, useSession } from "../session/session.ts";
import { unawaited } from "../../domain/unawaited.ts";

type Asking = "disable" | "enable" | "delete" | null;

export function Switching({ endpoint }: { endpoint: EndpointWithHealth }) {
  const [asking, setAsking] = useState<Asking>(null);
  const close = () => setAsking(null);
  return (
    <>
      {endpoint.enabled ? (
        <Button onClick={() => setAsking("disable")}>Disable</Button>
      ) : (
        <Button onClick={() => setAsking("enable")}>Enable</Button>
      )}
      <Button kind="danger" onClick={() => setAsking("delete")}>
        Delete
      </Button>
      <Question open={asking === "disable"} close={close} title="Disable this endpoint?">
        <Disable endpoint={endpoint} close={close} />
      </Question>
      <Question open={asking === "enable"} close={close} title="Enable this endpoint?">
        <Enable endpoint={endpoint} close={close} />
      </Question>
      <Question open={asking === "delete"} close={close} title="Delete this endpoint?">
        <Delete endpoint={endpoint} close={close} />
      </Question>
    </>
  );
}

interface Asked {
  readonly endpoint: EndpointWithHealth;
  readonly close: () => void;
}

function Disable({ endpoint, close }: Asked) {
  const [act, call, say] = [useAct(), useCall(), useNotice()];
  const { held_seconds: held } = useSession().portal;
  const disable = (whenDisabled: "hold" | "skip") =>
    act.run(async () => {
      await call("changeEndpoint", { id: endpoint.id, body: { enabled: false, when_disabled: whenDisabled } });
      say("Disabled");
      close();
    });
  return (
    <>
      <p>Nothing more is sent to it until you enable it. What should happen to its events until then?</p>
      <p>Held events wait for at most {spanText(held * 1000)}. After that they fail, and can be replayed.</p>
      {act.fault && <Trouble fault={act.fault} />}
      <div className="actions">
        <Button onClick={close}>Cancel</Button>
        <Button busy={act.busy} onClick={() => unawaited(disable("skip"))}>
          Skip them
        </Button>
        <Button kind="primary" busy={act.busy} onClick={() => unawaited(disable("hold"))}>
          Hold them for later
        </Button>
      </div>
    </>
  );
}

function Enable({ endpoint, close }: Asked) {
  const [act, call, say] = [useAct(), useCall(), useNotice()];
  const { held } = endpoint.health;
  const enable = (what: "release" | "cancel") =>
    act.run(async () => {
      await call("changeEndpoint", { id: endpoint.id, body: { enabled: true, ...(held > 0 && { held: what }) } });
      say("Enabled");
      close();
    });
  return (
    <>
      <p>
        {held === 0
          ? "Events are sent to it again from now on."
          : `Events are sent to it again. ${counted(held, "delivery is", "deliveries are")} held for it: send them too, slowly at first?`}
      </p>
      {act.fault && <Trouble fault={act.fault} />}
      <div className="actions">
        <Button onClick={close}>Cancel</Button>
        {held > 0 && (
          <Button kind="danger" busy={act.busy} onClick={() => unawaited(enable("cancel"))}>
            Enable, and cancel the held events
          </Button>
        )}
        <Button kind="primary" busy={act.busy} onClick={() => unawaited(enable("release"))}>
          {held > 0 ? "Enable, and send the held events" : "Enable"}
        </Button>
      </div>
    </>
  );
}

function Delete({ endpoint, close }: Asked) {
  const [act, call, say] = [useAct(), useCall(), useNotice()];
  const open = endpoint.health.pending + endpoint.health.held;
  const remove = () =>
    act.run(async () => {
      await call("deleteEndpoint", { id: endpoint.id });
      close();
      go("");
      say("The endpoint was deleted");
    });
  return (
    <>
      <p>
        Nothing more is sent to it, and its signing secret is gone.{" "}
        {open > 0 && `${counted(open, "waiting delivery is", "waiting deliveries are")} cancelled. `}
        To stop only for a while, disable it instead.
      </p>
      {act.fault && <Trouble fault={act.fault} />}
      <div className="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger" className="primary" busy={act.busy} onClick={() => unawaited(remove())}>
          Delete it
        </Button>
      </div>
    </>
  );
}
