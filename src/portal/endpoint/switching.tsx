/** Buttons that disable, enable and delete an endpoint. */
import { useState } from "react";
import type { EndpointWithHealth } from "../../client/operations.ts";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Question } from "../parts/dialog.tsx";
import { useNotice } from "../parts/notice.tsx";
import { spanText } from "../parts/span.ts";
import { Trouble } from "../parts/states.tsx";
import { go } from "../session/route.ts";
import { useCall, useSession } from "../session/session.ts";
import { unawaited } from "../../domain/unawaited.ts";
import { t } from "../language/text.ts";

type Asking = "disable" | "enable" | "delete" | null;

export function Switching({ endpoint }: { endpoint: EndpointWithHealth }) {
  const [asking, setAsking] = useState<Asking>(null);
  const close = () => setAsking(null);
  return (
    <>
      {endpoint.enabled ? (
        <Button onClick={() => setAsking("disable")}>{t("switching.disable")}</Button>
      ) : (
        <Button onClick={() => setAsking("enable")}>{t("switching.enable")}</Button>
      )}
      <Button kind="danger" onClick={() => setAsking("delete")}>
        {t("switching.delete")}
      </Button>
      <Question open={asking === "disable"} close={close} title={t("switching.disableThisEndpoint")}>
        <Disable endpoint={endpoint} close={close} />
      </Question>
      <Question open={asking === "enable"} close={close} title={t("switching.enableThisEndpoint")}>
        <Enable endpoint={endpoint} close={close} />
      </Question>
      <Question open={asking === "delete"} close={close} title={t("switching.deleteThisEndpoint")}>
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
      say(t("switching.disabled"));
      close();
    });
  return (
    <>
      <p>{t("switching.nothingMoreIsSentTo")}</p>
      <p>{t("switching.heldFor", { span: spanText(held * 1000) })}</p>
      {act.fault && <Trouble fault={act.fault} />}
      <div className="actions">
        <Button onClick={close}>{t("common.cancel")}</Button>
        <Button busy={act.busy} onClick={() => unawaited(disable("skip"))}>
          {t("switching.skipThem")}
        </Button>
        <Button kind="primary" busy={act.busy} onClick={() => unawaited(disable("hold"))}>
          {t("switching.holdThemForLater")}
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
      say(t("switching.enabled"));
      close();
    });
  return (
    <>
      <p>{held === 0 ? t("switching.sentAgain") : t("switching.sendHeld", { count: held })}</p>
      {act.fault && <Trouble fault={act.fault} />}
      <div className="actions">
        <Button onClick={close}>{t("common.cancel")}</Button>
        {held > 0 && (
          <Button kind="danger" busy={act.busy} onClick={() => unawaited(enable("cancel"))}>
            {t("switching.enableAndCancelTheHeld")}
          </Button>
        )}
        <Button kind="primary" busy={act.busy} onClick={() => unawaited(enable("release"))}>
          {held > 0 ? t("switching.enableAndSend") : t("switching.enable")}
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
      say(t("switching.theEndpointWasDeleted"));
    });
  return (
    <>
      <p>
        {t("switching.gone")} {open > 0 && t("switching.waiting", { count: open })} {t("switching.disableInstead")}
      </p>
      {act.fault && <Trouble fault={act.fault} />}
      <div className="actions">
        <Button onClick={close}>{t("common.cancel")}</Button>
        <Button kind="danger" className="primary" busy={act.busy} onClick={() => unawaited(remove())}>
          {t("switching.deleteIt")}
        </Button>
      </div>
    </>
  );
}
