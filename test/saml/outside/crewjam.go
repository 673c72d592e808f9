// An application by the README of crewjam/saml. `/` answers the signed-in user.
package main

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"log"
	"net/http"
	"net/url"
	"os"

	"github.com/crewjam/saml"
	"github.com/crewjam/saml/samlsp"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	pair := must(tls.X509KeyPair([]byte(os.Getenv("CERTIFICATE")), []byte(os.Getenv("KEY"))))
	_, secured := os.LookupEnv("SECURED")
	metadata := must(samlsp.FetchMetadata(context.Background(), http.DefaultClient, *must(url.Parse(os.Getenv("IDP") + "/metadata"))))
	sp := must(samlsp.New(samlsp.Options{
		URL:               *must(url.Parse(os.Getenv("ORIGIN"))),
		Key:               pair.PrivateKey.(*rsa.PrivateKey),
		Certificate:       must(x509.ParseCertificate(pair.Certificate[0])),
		IDPMetadata:       metadata,
		AllowIDPInitiated: true,
		SignRequest:       secured,
		SignLogout:        true,
		CookieName:        "token-" + os.Getenv("PORT"),
	}))
	if secured {
		sp.ServiceProvider.AuthnNameIDFormat = saml.PersistentNameIDFormat
	}
	http.Handle("/saml/", sp)
	http.Handle("/login", sp.RequireAccount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/", http.StatusFound)
	})))
	http.HandleFunc("/logout", sp.HandleStartLogout)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		session, err := sp.Session.GetSession(r)
		if err != nil {
			_, _ = w.Write([]byte("null"))
			return
		}
		claims := session.(samlsp.JWTSessionClaims)
		_ = json.NewEncoder(w).Encode(map[string]any{"nameId": claims.Subject, "attributes": claims.Attributes})
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
