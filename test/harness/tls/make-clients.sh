#!/bin/sh
# Made the client certificates beside it, once, with OpenSSL 3.0; the tests only read them. All have the key
# client.key.pem. The keys of both authorities are thrown away: a new certificate means new ones for all.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# authority <name> <key>
authority() {
  mkdir "$work/$1"
  : >"$work/$1/index.txt"
  echo 01 >"$work/$1/crlnumber"
  cat >"$work/$1.cnf" <<END
[ca]
default_ca = d
[d]
database = $work/$1/index.txt
crlnumber = $work/$1/crlnumber
unique_subject = no
rand_serial = yes
new_certs_dir = $work
default_md = sha256
default_crl_days = 36500
policy = p
[p]
commonName = supplied
END
  key "$work/$1.key"
  printf 'basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\n' >"$work/ext"
  openssl req -new -key "$work/$1.key" -subj "/CN=$1" -out "$work/csr"
  openssl ca -batch -notext -config "$work/$1.cnf" -in "$work/csr" -selfsign -keyfile "$work/$1.key" \
    -startdate $from -enddate $to -extfile "$work/ext" -out "$work/$1.pem"
}

# client <name> <authority> <to>
client() {
  printf 'basicConstraints=CA:false\nextendedKeyUsage=clientAuth\n' >"$work/ext"
  openssl req -new -key client.key.pem -subj "/CN=$1" -out "$work/csr"
  openssl ca -batch -notext -config "$work/$2.cnf" -in "$work/csr" -cert "$work/$2.pem" -keyfile "$work/$2.key" \
    -startdate $from -enddate "$3" -extfile "$work/ext" -out "$1.pem"
}

key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }
from=20200101000000Z
to=21200101000000Z
key client.key.pem
chmod 644 client.key.pem
authority client-ca
authority other-ca
client client client-ca $to
client client-next client-ca $to
client client-expired client-ca 20200201000000Z
client client-revoked client-ca $to
client client-other other-ca $to
openssl ca -config "$work/client-ca.cnf" -cert "$work/client-ca.pem" -keyfile "$work/client-ca.key" -revoke client-revoked.pem
openssl ca -config "$work/client-ca.cnf" -cert "$work/client-ca.pem" -keyfile "$work/client-ca.key" -gencrl -out client-crl.pem
cp "$work/client-ca.pem" client-ca.pem
