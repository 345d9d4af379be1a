# pip install standardwebhooks
import os
from standardwebhooks import Webhook

webhook = Webhook(os.environ["SIGNING_SECRET"])
# Raises if the signature does not match, or if the request is older than five minutes.
event = webhook.verify(raw_body, headers)
