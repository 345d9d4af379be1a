package webhookd

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Verdict says whether a request is genuine, and if not, what is most likely wrong.
type Verdict struct {
	OK bool
	// Reason is for programs: no_secret, no_signature, other_header, malformed_signature, secret_has_spaces,
	// body_changed, not_fresh or mismatch.
	Reason string
	// Detail is for whoever reads your log. Do not answer with it.
	Detail string
}

var details = map[string]string{
	"no_secret":           "there is no secret to verify with",
	"no_signature":        "the request has no header X-Service-Signature",
	"other_header":        "this is the header webhook-signature: pass X-Service-Signature",
	"malformed_signature": "the signature is not 64 hexadecimal digits",
	"secret_has_spaces":   "it matches without the white space around the secret",
	"body_changed":        "the body was changed on its way to Verify: pass the bytes as they arrived, before anything parses them",
	"not_fresh":           "webhook-timestamp is missing, or more than five minutes off",
	"mismatch":            "the body was changed, or the secret is wrong",
}

var (
	otherHeader = regexp.MustCompile(`^v\d\w?,`)
	hexadecimal = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
	seconds     = regexp.MustCompile(`^[0-9]{1,12}$`)
)

const tolerance = 300

func fault(reason string) Verdict { return Verdict{Reason: reason, Detail: details[reason]} }

// Verify checks the value of X-Service-Signature. body is the raw body. During a rotation give both secrets.
func Verify(body []byte, header string, secrets ...string) Verdict {
	var usable, trimmed []string
	for _, secret := range secrets {
		if strings.TrimSpace(secret) != "" {
			usable = append(usable, secret)
			trimmed = append(trimmed, strings.TrimSpace(secret))
		}
	}
	signature := strings.TrimSpace(header)
	switch {
	case len(usable) == 0:
		return fault("no_secret")
	case signature == "":
		return fault("no_signature")
	case otherHeader.MatchString(signature):
		return fault("other_header")
	case !hexadecimal.MatchString(signature):
		return fault("malformed_signature")
	case matches(body, signature, usable):
		return Verdict{OK: true}
	case matches(body, signature, trimmed):
		return fault("secret_has_spaces")
	}
	for _, form := range formsOf(body) {
		if matches(form, signature, trimmed) {
			return fault("body_changed")
		}
	}
	return fault("mismatch")
}

func matches(body []byte, signature string, secrets []string) bool {
	given, _ := hex.DecodeString(strings.ToLower(signature))
	found := false
	for _, secret := range secrets {
		// A key of Ed25519 may be public: whoever knows it could make the HMAC.
		plain := strings.TrimSpace(secret)
		if strings.HasPrefix(plain, "whpk_") || strings.HasPrefix(plain, "whsk_") {
			continue
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if hmac.Equal(mac.Sum(nil), given) {
			found = true
		}
	}
	return found
}

// formsOf returns what the body may have been before a framework had it.
func formsOf(body []byte) [][]byte {
	forms := [][]byte{bytes.TrimRight(body, " \t\r\n"), bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))}
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil {
		forms = append(forms, compact.Bytes())
	}
	return forms
}

// VerifyStandard checks webhook-signature of Standard Webhooks, and that the request is at most five minutes old at the
// time now. keys are signing secrets, which verify v1, and public keys (whpk_), which verify v1a. One that matches is
// enough.
func VerifyStandard(body []byte, headers http.Header, now time.Time, keys ...string) Verdict {
	var usable []string
	for _, key := range keys {
		if key = strings.TrimSpace(key); key != "" && !strings.HasPrefix(key, "whsk_") {
			usable = append(usable, key)
		}
	}
	id := strings.TrimSpace(headers.Get("webhook-id"))
	signature := strings.TrimSpace(headers.Get("webhook-signature"))
	timestamp := strings.TrimSpace(headers.Get("webhook-timestamp"))
	if len(usable) == 0 {
		return fault("no_secret")
	}
	if id == "" || signature == "" {
		return Verdict{Reason: "no_signature", Detail: "the request has no webhook-signature and webhook-id"}
	}
	at, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || !seconds.MatchString(timestamp) || at-now.Unix() > tolerance || now.Unix()-at > tolerance {
		return fault("not_fresh")
	}
	signed := append([]byte(fmt.Sprintf("%s.%s.", id, timestamp)), body...)
	entries := strings.Split(signature, " ")
	for _, key := range usable {
		if verifies(key, signed, entries) {
			return Verdict{OK: true}
		}
	}
	return fault("mismatch")
}

func verifies(key string, signed []byte, entries []string) bool {
	if public, ok := strings.CutPrefix(key, "whpk_"); ok {
		raw, err := base64.StdEncoding.DecodeString(public)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return false
		}
		for _, entry := range entries {
			given, ok := strings.CutPrefix(entry, "v1a,")
			if !ok {
				continue
			}
			if made, err := base64.StdEncoding.DecodeString(given); err == nil && ed25519.Verify(raw, signed, made) {
				return true
			}
		}
		return false
	}
	secret := []byte(key)
	if encoded, ok := strings.CutPrefix(key, "whsec_"); ok {
		secret, _ = base64.StdEncoding.DecodeString(encoded)
	}
	// Anyone could sign with what is left of a malformed secret.
	if len(secret) < 16 {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(signed)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	found := false
	for _, entry := range entries {
		if subtle.ConstantTimeCompare([]byte(entry), expected) == 1 {
			found = true
		}
	}
	return found
}
