/** Code that verifies `webhook-signature` with the official libraries of Standard Webhooks, by the language's extension. */
export const LIBRARIES: Readonly<Record<string, string>> = {
  ".mjs": `// npm install standardwebhooks
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.SIGNING_SECRET);
// Throws if the signature does not match, or if the request is older than five minutes.
const event = webhook.verify(rawBody, request.headers);`,
  ".py": `# pip install standardwebhooks
import os
from standardwebhooks import Webhook

webhook = Webhook(os.environ["SIGNING_SECRET"])
# Raises if the signature does not match, or if the request is older than five minutes.
event = webhook.verify(raw_body, headers)`,
  ".go": `// go get github.com/standard-webhooks/standard-webhooks/libraries
import standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

webhook, err := standardwebhooks.NewWebhook(os.Getenv("SIGNING_SECRET"))
// Fails if the signature does not match, or if the request is older than five minutes.
err = webhook.Verify(rawBody, request.Header)`,
  ".java": `// com.standardwebhooks:standardwebhooks
import com.standardwebhooks.Webhook;

Webhook webhook = new Webhook(System.getenv("SIGNING_SECRET"));
// Throws if the signature does not match, or if the request is older than five minutes.
webhook.verify(rawBody, headers);`,
  ".rb": `# gem install standardwebhooks
require "standardwebhooks"

webhook = StandardWebhooks::Webhook.new(ENV["SIGNING_SECRET"])
# Raises if the signature does not match, or if the request is older than five minutes.
event = webhook.verify(raw_body, headers)`,
  ".php": `// composer require standard-webhooks/standard-webhooks
$webhook = new \\StandardWebhooks\\Webhook(getenv("SIGNING_SECRET"));
// Throws if the signature does not match, or if the request is older than five minutes.
$event = $webhook->verify($rawBody, $headers);`,
};
