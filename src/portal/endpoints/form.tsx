/** The forms that add an endpoint and change one. */
import { useEffect, useRef, useState, type FormEvent } from "react";
import { flushSync } from "react-dom";
import type { ClientError } from "../../client/error.ts";
import type { Answers, Endpoint } from "../../client/operations.ts";
import { needsPrivateKey } from "../../domain/endpoints/endpoint.ts";
import { faultAt, readingOf, type FilterFault, type FilterReading } from "../filter/draft.ts";
import { FilterField } from "../filter/filter-field.tsx";
import { useAct, type Act } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { useNotice } from "../parts/notice.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { Code } from "../parts/code.tsx";
import { go } from "../session/route.ts";
import { inTenant, useCall, useCan, useSession } from "../session/session.ts";
import { faultText } from "../language/api.ts";
import { useTitle } from "../session/title.ts";
import { bodyOf, draftOf, EMPTY, refusalOf, type Draft } from "./draft.ts";
import { HeadersField } from "./headers-field.tsx";
import { metadataFault } from "./metadata.ts";
import { MoreField } from "./more-field.tsx";
import { SendingField } from "./sending-field.tsx";
import { SignaturesField } from "./signatures-field.tsx";
import { TextField } from "./text-field.tsx";
import { TypesField } from "./types-field.tsx";
import { UrlField } from "./url-field.tsx";
import { PublicKeys } from "../secrets/public-keys.tsx";
import { unawaited } from "../../domain/unawaited.ts";
import { t } from "../language/text.ts";

export function AddEndpoint() {
  const [added, setAdded] = useState<Added | null>(null);
  const { portal, tenant } = useSession();
  const call = useCall();
  useTitle(added === null ? t("form.add") : t("form.added"));
  if (added !== null) return <AddedScreen added={added} />;
  const send = async (body: object) => setAdded(await call("registerEndpoint", { body }));
  return (
    <>
      <div className="title">
        <h1>{t("form.add")}</h1>
      </div>
      {portal.tenant === "*" && tenant === undefined && <p className="alert wait">{t("form.itWillBelongToThe")}</p>}
      <EndpointForm before={null} word={t("form.addTheEndpoint")} cancel="" send={send} />
    </>
  );
}

export function EditEndpoint({ id }: { id: string }) {
  const { value, fault } = useEndpointNow(id);
  const call = useCall();
  const say = useNotice();
  useTitle(t("form.editTheEndpoint"));
  if (value === undefined) return fault ? <Trouble fault={fault} /> : <Loading lines={6} />;
  const send = async (body: object) => {
    await call("changeEndpoint", { id, body });
    say(t("form.saved"));
    // Ed25519 that was just chosen needs a public key in the receiver, and that tab shows the key.
    go("signatures" in body && needsPrivateKey(body as Pick<Endpoint, "signatures">) ? `${id}/verify` : id);
  };
  return (
    <>
      <div className="title">
        <h1>{t("form.editTheEndpoint")}</h1>
      </div>
      <EndpointForm key={id} before={value} word={t("form.save")} cancel={id} send={send} />
    </>
  );
}

/** Asks again, because what is kept may be older than the last change, and the form would then undo it or miss it. */
function useEndpointNow(id: string): { readonly value?: Endpoint; readonly fault?: ClientError } {
  const { client, tenant } = useSession();
  const [answer, setAnswer] = useState<{ readonly value?: Endpoint; readonly fault?: ClientError }>({});
  useEffect(() => {
    const leaving = new AbortController();
    client.call("getEndpoint", inTenant({ id, signal: leaving.signal }, tenant)).then(
      (value) => setAnswer({ value }),
      (fault: ClientError) => leaving.signal.aborted || setAnswer({ fault }),
    );
    return () => leaving.abort();
  }, [client, tenant, id]);
  return answer;
}

interface FormProps {
  readonly before: Endpoint | null;
  readonly word: string;
  /** The link of the Cancel button. */
  readonly cancel: string;
  readonly send: (body: object) => Promise<void>;
}

function EndpointForm({ before, word, cancel, send }: FormProps) {
  // A change by somebody else must not replace the text that was typed here.
  const [first] = useState(before);
  const [draft, setDraft] = useState<Draft>(first === null ? EMPTY : draftOf(first));
  const act = useAct();
  const reading = readingOf(draft.filter);
  const [isTried, setTried] = useState(false);
  const change = (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part }));
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (reading.faults.length > 0 || metadataFault(draft.metadata) !== undefined) {
      flushSync(() => setTried(true));
      event.currentTarget.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
      return;
    }
    setTried(false);
    unawaited(act.run(() => send(bodyOf(draft, first))));
  };
  const form = useRef<HTMLFormElement>(null);
  // After a refusal, the focus moves to the first field to correct.
  useEffect(() => {
    if (act.fault) form.current?.querySelector<HTMLElement>(WRONG)?.focus();
  }, [act.fault]);
  return (
    <form className="sheet" noValidate onSubmit={submit} ref={form}>
      <Fields {...{ draft, first, reading, isTried, change }} fault={act.fault} />
      <Ending act={act} word={word} cancel={cancel} />
    </form>
  );
}

const WRONG = '[aria-invalid="true"], [role="alert"]';

interface FieldsProps {
  readonly draft: Draft;
  /** The endpoint before the change. Null for a new one. */
  readonly first: Endpoint | null;
  readonly reading: FilterReading;
  /** True once the form could not be sent because of its own mistakes. */
  readonly isTried: boolean;
  readonly fault: ClientError | undefined;
  readonly change: (part: Partial<Draft>) => void;
}

function Fields({ draft, first, reading, isTried, fault, change }: FieldsProps) {
  const mayHeaders = useCan("secrets");
  const { portal, tenant: chosenTenant } = useSession();
  const tenant = first?.tenant ?? chosenTenant ?? (portal.tenant === "*" ? "default" : portal.tenant);
  const refused = (pointer: string) => refusalOf(fault, pointer);
  return (
    <>
      <UrlField url={draft.url} before={first} refusal={refused("/url")} change={(url) => change({ url })} />
      <TypesField chosen={draft.events} refusal={refused("/events")} change={(events) => change({ events })} />
      <FilterField
        draft={draft.filter}
        reading={reading}
        faults={filterFaults(reading, isTried, fault)}
        events={draft.events}
        endpoint={first?.id ?? null}
        change={(filter) => change({ filter })}
      />
      <TextField
        id="description"
        label={t("form.description")}
        dir="auto"
        maxLength={256}
        text={draft.description}
        refusal={refused("/description")}
        help={t("form.forYouAndYourColleagues")}
        change={(description) => change({ description })}
      />
      <SignaturesField
        ed25519={draft.ed25519}
        tenant={tenant}
        refusal={refused("/signatures")}
        change={(ed25519) => change({ ed25519 })}
      />
      {mayHeaders && (
        <HeadersField headers={draft.headers} refusal={refused("/headers")} change={(headers) => change({ headers })} />
      )}
      <MoreField
        draft={draft}
        refused={(name) =>
          (name === "metadata" && isTried ? metadataFault(draft.metadata) : undefined) ?? refused(`/${name}`)
        }
        change={change}
      />
      <SendingField draft={draft} refused={(name) => refused(`/${name}`)} change={change} />
    </>
  );
}

/** The fields that show what the daemon says about them. */
const OWN = [
  "/url",
  "/events",
  "/filter",
  "/headers",
  "/description",
  "/signatures",
  "/rate_per_second",
  "/max_in_flight",
  "/uid",
  "/metadata",
  "/format",
  "/ordering",
  "/after_failure",
];

function Ending({ act, word, cancel }: Pick<FormProps, "word" | "cancel"> & { readonly act: Act }) {
  const { fault, busy } = act;
  const isElsewhere = fault !== undefined && !OWN.some((pointer) => refusalOf(fault, pointer));
  return (
    <>
      {isElsewhere && (
        <p className="alert bad" role="alert" tabIndex={-1}>
          {faultText(fault)}
        </p>
      )}
      <div className="actions start">
        <Button kind="primary" type="submit" busy={busy}>
          {word}
        </Button>
        <a className="button" href={`#/${cancel}`}>
          {t("common.cancel")}
        </a>
      </div>
    </>
  );
}

/** A condition that is not filled in is no mistake until the form is sent. */
function filterFaults(
  reading: FilterReading,
  isTried: boolean,
  refusal: ClientError | undefined,
): readonly FilterFault[] {
  const own = reading.faults.filter(({ isMissing }) => isTried || !isMissing);
  const theirs = (refusal?.faults ?? [])
    .filter(({ pointer }) => `${pointer}/`.startsWith("/filter/"))
    .map(({ pointer, detail }) => faultAt(pointer.slice("/filter".length), detail, reading.pointers));
  return [...own, ...theirs];
}

type Added = Answers["registerEndpoint"];

function AddedScreen({ added: { id, tenant, signing_secret: secret, signatures } }: { added: Added }) {
  const maySeeAgain = useCan("secrets");
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <div className="sheet">
      <h1 tabIndex={-1} ref={heading}>
        {t("form.added")}
      </h1>
      <p>
        {t("form.secret")} {maySeeAgain ? t("form.seeAgain") : t("form.shownOnce")}
      </p>
      <Code text={secret} label={t("common.signingSecret")} />
      {needsPrivateKey({ signatures }) && (
        <>
          <p>{t("form.toVerifyTheEd25519Signatures")}</p>
          <PublicKeys tenant={tenant} />
        </>
      )}
      <div className="actions start">
        <a className="button primary" href={`#/${id}`}>
          {t("form.goToTheEndpoint")}
        </a>
        <a className="button" href={`#/${id}/verify`}>
          {t("form.howToVerify")}
        </a>
      </div>
    </div>
  );
}
