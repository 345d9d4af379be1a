/** Lets an operator choose a tenant. */
import { useState } from "react";
import { NONE } from "../server/reads.ts";
import { go } from "./route.ts";
import { useRead, useSession } from "./session.ts";
import { t } from "../language/text.ts";

/** Nobody reads a longer list of names. Beyond that, a name is typed. */
const MANY = 100;

export function TenantSwitch() {
  const { tenant, chooseTenant, reads } = useSession();
  const { value } = useRead("listTenants", { query: { limit: MANY, sort: "name" } }, NONE);
  if (value === undefined) return null;
  const names = value.data.map(({ name }) => name);
  const choose = (name: string) => {
    reads.clear();
    chooseTenant(name === "" ? undefined : name);
    go("");
  };
  return (
    <label className="tenants">
      <span className="quiet">{t("tenant.tenant")}</span>
      {value.next_cursor === null ? (
        <select value={tenant ?? ""} onChange={({ target }) => choose(target.value)}>
          <option value="">{t("tenant.all")}</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      ) : (
        <TypedTenant names={names} chosen={tenant ?? ""} choose={choose} />
      )}
    </label>
  );
}

interface TypedProps {
  readonly names: readonly string[];
  readonly chosen: string;
  readonly choose: (name: string) => void;
}

function TypedTenant({ names, chosen, choose }: TypedProps) {
  const [typed, setTyped] = useState(chosen);
  const settle = () => {
    if (typed.trim() !== chosen) choose(typed.trim());
  };
  return (
    <>
      <input
        list="tenant-names"
        placeholder={t("tenant.all")}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onBlur={settle}
        onKeyDown={({ key }) => key === "Enter" && settle()}
      />
      <datalist id="tenant-names">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}
