// com.standardwebhooks:standardwebhooks
import com.standardwebhooks.Webhook;

Webhook webhook = new Webhook(System.getenv("SIGNING_SECRET"));
// Throws if the signature does not match, or if the request is older than five minutes.
webhook.verify(rawBody, headers);
