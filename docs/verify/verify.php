<?php

/** $body: the raw bytes; $signature: the header X-Service-Signature; $secrets: usually one, two during a rotation. */
function is_genuine(string $body, ?string $signature, array $secrets): bool
{
    foreach ($secrets as $secret) {
        if (hash_equals(hash_hmac('sha256', $body, $secret), strtolower($signature ?? ''))) {
            return true;
        }
    }
    return false;
}
