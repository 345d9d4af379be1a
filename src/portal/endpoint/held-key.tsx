/** Says which ordering key is held after a failure, and frees it. */
import type { EndpointWithHealth } from "../../client/operations.ts";
import { counted } from "../../domain/wording.ts";
import { unawaited } from "../../domain/unawaited.ts";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { useNotice } from "../parts/notice.tsx";
import { Trouble } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { useCall, useCan } from "../session/session.ts";

export function HeldKey({ endpoint: { id, health } }: { endpoint: EndpointWithHealth }) {
  const [mayReplay, mayManage] = [useCan("replay"), useCan("manage")];
  const [act, call, say] = [useAct(), useCall(), useNotice()];
  const held = health.held_keys;
  if (!held) return null;
  const { count, since, ordering_key: key, event } = held;
  const free = (operation: "replayEvent" | "cancelEvent", said: string) =>
    act.run(async () => {
      await call(operation, { id: event, body: { endpoint: id } });
      say(said);
    });
  return (
    <div className="alert warn">
      <div>
        <p>
          <strong>
            Nothing with the ordering key <code>{key}</code> is sent
          </strong>
          , because the event <a href={`#/${id}?find=${event}`}>{event}</a> failed <Ago at={since} />. Later events with
          this key wait until it is replayed or cancelled.
        </p>
        {count > 1 && (
          <p>{counted(count - 1, "more key is", "more keys are")} held. This one has been held for longest.</p>
        )}
        {act.fault && <Trouble fault={act.fault} />}
      </div>
      <div className="actions">
        {mayReplay && (
          <Button busy={act.busy} onClick={() => unawaited(free("replayEvent", "It is being sent again"))}>
            Replay the event
          </Button>
        )}
        {mayManage && (
          <Button busy={act.busy} onClick={() => unawaited(free("cancelEvent", "Cancelled: the next event is sent"))}>
            Leave it out, and go on
          </Button>
        )}
      </div>
    </div>
  );
}
