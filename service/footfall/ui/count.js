/*! Footfall, MIT. As Waline 3: views by raw path, comments by decodeURI(path). */
(async d => {
const { src, dataset } = d.currentScript, { search, pathname } = location, own = dataset.path || pathname
const when = (yes, event) => yes && new Promise(go => d.addEventListener(event, go))
const ask = (url, post) => fetch(new URL('api/' + url, src), post).then(r => r.json())
	.then(r => [].concat(r.data).map(n => n?.time ?? n)).catch(() => [])

await when(d.prerendering, 'prerenderingchange')
const me = /[?&](ex|in)clude-me\b/.exec(search)?.[1]
let out
try { // storage may throw
	if (me) localStorage.footfall = me
	out = localStorage.footfall == 'ex'
} catch {}
const count = dataset.noCount == null && !out && ask('article', { method: 'POST', keepalive: true,
	body: JSON.stringify({ path: own, type: 'time', action: 'inc',
		referrer: /[?&](utm_(source|campaign)|ref)=([\w.-]+)/.exec(search)?.[3]
			|| d.referrer.split(/[/:]+/)[1] != location.hostname && d.referrer.split(/[?#]/)[0] || void 0,
		webdriver: navigator.webdriver || void 0 }) })
await when(d.readyState == 'loading', 'DOMContentLoaded')

const each = (name, show) => d.querySelectorAll(`[data-footfall-${name}]`).forEach(show)
const put = (e, n) => n === +n && (e.textContent = n)
const fill = (name, url, param, key, known) => {
	const at = {}
	const show = (paths, got) => got.then(list => list.map((n, i) => at[paths[i]]?.map(e => put(e, n))))
	each(name, e => {
		let p = e.getAttribute('data-footfall-' + name) || own
		try { p = key(p) } catch {}
		at[p] = [e].concat(at[p] || [])
	})
	const rest = Object.keys(at).filter(p => !known || p != own || !show([p], known))
	while (rest[0]) {
		const some = rest.splice(0, 100)
		some[1] || some.push(some[0]) // else split at commas
		show(some, ask(url + new URLSearchParams(some.map(p => [param, p]))))
	}
}
fill('views', 'article?', 'path', String, count)
fill('comments', 'comment?type=count&', 'url', decodeURI)

if (me) {
	const note = d.createElement('output')
	note.lang = /^de|^zh|$/.exec(navigator.language)[0] || 'en'
	note.textContent = {
		de: `Dieser Browser wird ${out ? 'nicht ' : ''}gezählt`,
		en: `This browser is ${out ? 'not ' : ''}counted`,
		zh: `此浏览器${out ? '不' : ''}计入统计` }[note.lang]
	note.style = 'position:fixed;inset:auto 0 0;z-index:9999;padding:1em;background:#222;color:#fff'
	d.body.append(note)
}

let totals
const site = (name, of) => each(name, e =>
	(totals = totals || ask('statistics/totals')).then(([t]) => put(e, of(t))))
site('site-views', t => t?.views)
site('site-comments', t => t?.comments)
site('views-today', t => t?.today?.people ?? t?.today?.views)
site('visitors-today', t => t?.today?.visitors)
})(document).catch(() => {})
