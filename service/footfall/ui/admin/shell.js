/* The variables that the reference's admin front-end expects in its window. */

const { siteUrl, siteName, serverUrl, services, captcha } = document.documentElement.dataset;
const { field, key = '' } = JSON.parse(captcha);

Object.assign(window, {
  SITE_URL: siteUrl,
  SITE_NAME: siteName,
  serverURL: serverUrl,
  recaptchaV3Key: field === 'recaptchaV3' ? key : '',
  turnstileKey: field === 'turnstile' ? key : '',
  oauthServices: JSON.parse(services),
});
