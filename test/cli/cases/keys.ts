import type { Cases } from "./case.ts";

export const PORTAL_CASES: Cases<"portal"> = {
  "portal link": {
    words: ["acme", "--can", "manage", "--expires", "1h", "--return-url", "https://app.example.com/"],
    asks: ["createPortalLink"],
    out: /^https:\/\/hooks\.example\.com\/portal#whk_\S+\n$/,
    err: /^key_\S+: .+\nAnyone who has this link .+\n$/,
  },
};

export const KEYS_CASES: Cases<"keys"> = {
  "keys create": {
    words: ["--name", "n", "--scope=read,publish", "--tenant", "acme", "--expires", "1h"],
    asks: ["createKey"],
    out: /^whk_\S+\n$/,
    err: /^key_\S+ .+\nThis is the key\. It is shown only once, so store it now\.\n$/,
  },
  "keys list": { words: [], asks: ["listKeys"], out: /^ID +NAME .+\nkey_\S+ .+\n$/, json: { next_cursor: null } },
  "keys revoke": {
    words: ["key_01m7w8bx02jeyjr53r14y5rmma"],
    asks: ["revokeKey"],
    out: /^key_\S+ is revoked: .+\n$/,
    err: /./,
    json: { revoked: true },
  },
};

export const SIGNING_KEYS_CASES: Cases<"signing-keys"> = {
  "signing-keys show": {
    words: ["--tenant", "acme"],
    asks: ["getSigningKeys"],
    out: /^ +public key +whpk_\S+\n +published +no\n$/,
    json: { published: false },
  },
  "signing-keys rotate": {
    words: ["--tenant", "acme", "--overlap=24h"],
    asks: ["rotateSigningKey"],
    out: /^whpk_PU\S+\n$/,
    err: /^This is the next public key\. It takes over at 2026-\S+; until then both keys sign\.\n.+ --tenant acme --complete\n$/,
    json: { next_public_key: /^whpk_PU/ },
  },
  "signing-keys publish": {
    words: ["--tenant", "acme"],
    asks: ["changeSigningKeys"],
    out: /^Anyone can read the public keys now: \S+jwks\.json\?tenant=acme\n$/,
    json: { published: true },
  },
};

export const TENANTS_CASES: Cases<"tenants"> = {
  "tenants list": {
    words: [],
    asks: ["listTenants"],
    out: /^TENANT +ENDPOINTS +PUBLISHED 1H\ndefault +3 +1,240\n$/,
    json: { next_cursor: null },
  },
  "tenants show": {
    words: ["default"],
    asks: ["listTenants", "getStatistics", "listFailures", "listEndpoints", "getConfiguration", "getEndpoint"],
    spares: ["getConfiguration", "getEndpoint"],
    answers: {
      listEndpoints: { data: [], next_cursor: null, total: 1 },
      getConfiguration: { settings: {}, tenants: { default: { weight: 2, rate_per_second: 500, max_pending: null } } },
    },
    out: /^default\n +endpoints +3, of which 1 is disabled\n +events +3,570 in the last 24 h\n(?:.+\n){2} +failing +\S+\/\S+: 503 from the receiver \(441 failed, 1,978 being retried, 0 held\)\n(?: +share +weight 2, at most 500 events a second\n)? +next +webhookd failures --tenant default\n$/,
    json: { endpoints: 3 },
  },
};

export const AUDIT_CASES: Cases<"audit"> = {
  "audit list": {
    words: ["ep_01m7w8bx02jeyjr53r14y5rmma", "--action", "endpoint.register", "--since", "2h"],
    asks: ["listAudit", "getEndpoint"],
    spares: ["getEndpoint"],
    out: /^WHEN +ACTOR +ACTION +OUTCOME +OBJECT +HOST +TENANT\n.+ key_\S+ +endpoint\.register +ok +ep_\S+ +example\.com\/hook +default\n$/,
    json: { next_cursor: null },
  },
};
