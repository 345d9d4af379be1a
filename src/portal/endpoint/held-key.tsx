/** Says which ordering key is held after a failure, and frees it. */
import type { EndpointWithHealth } from "../../client/operations.ts";
import { unawaited } from "../../domain/unawaited.ts";
import { MARKS, rich } from "../language/rich.tsx";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { useNotice } from "../parts/notice.tsx";
import { Trouble } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { useCall, useCan } from "../session/session.ts";
import { t } from "../language/text.ts";

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
          {rich("held.nothing", {
            ...MARKS,
            key: <code>{key}</code>,
            event: <a href={`#/${id}?find=${event}`}>{event}</a>,
            ago: <Ago at={since} />,
          })}
        </p>
        {count > 1 && <p>{t("held.more", { count: count - 1 })}</p>}
        {act.fault && <Trouble fault={act.fault} />}
      </div>
      <div className="actions">
        {mayReplay && (
          <Button busy={act.busy} onClick={() => unawaited(free("replayEvent", t("common.itIsBeingSentAgain")))}>
            {t("held.replayTheEvent")}
          </Button>
        )}
        {mayManage && (
          <Button busy={act.busy} onClick={() => unawaited(free("cancelEvent", t("held.cancelled")))}>
            {t("held.leaveItOutAndGo")}
          </Button>
        )}
      </div>
    </div>
  );
}
