import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class Verify {
    /** body: the raw bytes; signature: the header X-Service-Signature; secrets: usually one, two during a rotation. */
    public static boolean isGenuine(byte[] body, String signature, List<String> secrets) throws GeneralSecurityException {
        byte[] given = signature == null ? new byte[0] : signature.toLowerCase(Locale.ROOT).getBytes(UTF_8);
        Mac mac = Mac.getInstance("HmacSHA256");
        for (String secret : secrets) {
            mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
            if (MessageDigest.isEqual(given, HexFormat.of().formatHex(mac.doFinal(body)).getBytes(UTF_8))) return true;
        }
        return false;
    }
}
