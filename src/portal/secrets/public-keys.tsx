/** Shows the public keys of a tenant, which verify `v1a` in `webhook-signature`. Everyone may know them. */
import type { Ask } from "../../client/client.ts";
import { Code } from "../parts/code.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { At } from "../parts/time.tsx";
import { useRead, useSession } from "../session/session.ts";
import { t } from "../language/text.ts";
import { rich } from "../language/rich.tsx";

/** Names the tenant only for an operator of all tenants, because other keys imply it. */
export function useTenantAsk(tenant: string): Ask {
  return useSession().portal.tenant === "*" ? { query: { tenant } } : {};
}

export function usePublicKeys(tenant: string) {
  return useRead("getSigningKeys", useTenantAsk(tenant));
}

export function PublicKeys({ tenant }: { tenant: string }) {
  const { value, fault, again } = usePublicKeys(tenant);
  if (value === undefined) return fault === undefined ? <Loading lines={2} /> : <Trouble fault={fault} again={again} />;
  const { public_key: current, next_public_key: next, switches_at: switchesAt } = value;
  if (current === null) return <p className="help">{t("keys.theKeyIsMadeWhen")}</p>;
  return (
    <div className="stack">
      <Code text={current} label={t("common.publicKey")} />
      {next !== undefined && switchesAt !== undefined && (
        <>
          <p className="prose">{rich("keys.rotating", { at: <At at={switchesAt} /> })}</p>
          <Code text={next} label={t("keys.nextPublicKey")} />
        </>
      )}
    </div>
  );
}
