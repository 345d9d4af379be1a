require "openssl"

# body: the raw bytes; signature: the header X-Service-Signature; secrets: usually one, two during a rotation.
def genuine?(body, signature, secrets)
  given = signature.to_s.downcase
  return false unless given.match?(/\A[0-9a-f]{64}\z/)

  secrets.any? do |secret|
    OpenSSL.fixed_length_secure_compare(given, OpenSSL::HMAC.hexdigest("SHA256", secret, body))
  end
end
