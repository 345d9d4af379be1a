/** What came of a change of `secret.key`; nothing of either key. */
import * as v from "valibot";
import { Count, described, id, titled } from "./wire.ts";

export const Rekeyed = titled(
  "Rekeyed",
  v.object({
    resealed: described(Count, "How many endpoints are sealed with the new key now, that of the alerts included."),
    secret_key_file: described(v.string(), "Where the new key is: a path on the daemon's host. Copy it off that host."),
    key_id: described(v.string(), "Names the new key, and tells nothing of it."),
    kept: described(
      v.nullable(v.string()),
      "Where the key of before is: backups made before that do not have it sealed in need it. Null when its file was gone.",
    ),
    damaged: described(
      v.array(id("ep")),
      "Endpoints of which something did not open before either: they stay as they are.",
    ),
  }),
);

export const aRekeying = {
  resealed: 3,
  secret_key_file: "/var/lib/webhookd/secret.key",
  key_id: "1f0c9a7e",
  kept: "/var/lib/webhookd/secret.key.old-83b2d7c4",
  damaged: [],
};
