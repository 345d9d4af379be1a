package verify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// IsGenuine takes the raw body, the header X-Service-Signature, and the secrets: usually one, two during a rotation.
func IsGenuine(body []byte, signature string, secrets []string) bool {
	given, err := hex.DecodeString(signature)
	if err != nil {
		return false
	}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if hmac.Equal(given, mac.Sum(nil)) {
			return true
		}
	}
	return false
}
