from tests.conftest import Registry

async def test_probe(registry: Registry) -> None:
    c = registry.client
    async def show(method, url, **kw):
        r = await c.request(method, url, **kw)
        print(method, url, r.status_code, r.headers.get("content-type"), r.text[:300].replace("\n"," "), {k:v for k,v in r.headers.items() if k in ("allow","retry-after","cache-control","content-security-policy")})
    P="/api/v1/submissions"
    for u in ["?limit=0","?limit=501","?limit=x","?limit=","?state=NOPE","?category=nope","?cursor=zzz","?cursor=","?nope=1","?state=FAILED&category=failed","?limit=1&limit=2","/not-a-uuid","/00000000-0000-0000-0000-000000000000","/00000000-0000-0000-0000-000000000000?submission_id=1","/stats?x=1"]:
        await show("GET", P+u)
    for kw in [dict(json={}),dict(json={"repoUrl":"https://github.com/a/b","nope":1}),dict(json=[]),dict(json={"repoUrl":5}),dict(content=b"{"),dict(content=b"{",headers={"content-type":"application/json"}),dict(content=b"repoUrl=x",headers={"content-type":"application/x-www-form-urlencoded"}),dict(content=b'{"repoUrl":"https://github.com/a/b"}',headers={"content-type":"text/plain"}),dict(content=b'{"repoUrl":"\\ud800"}',headers={"content-type":"application/json"}),dict(content=b'{"repoUrl":"\xff"}',headers={"content-type":"application/json"}),dict(content=b'',headers={"content-type":"application/json"}),dict(content=b' '*(17*1024*1024),headers={"content-type":"application/json"}),dict(data={"a":"b"}),dict(json={"repoUrl":"https://github.com/a/b","skillName":"x"*300})]:
        await show("POST", P, **kw)
    for kw in [dict(json={}),dict(files={"archive":("x.zip",b"hello")}),dict(files={"archive":("x.zip",b"hello")},data={"zzz":"1"}),dict(files={"nope":("x.zip",b"hello")}),dict(data={"archive":"text"}),dict(files={"archive":("x.zip",b"h"*(17*1024*1024))})]:
        await show("POST", P+"/upload", **kw)
    S="/api/v1/skills"
    for u in ["?limit=0","?limit=101","?q=x","/search","/search?q=a","/search?q=%00%00","/search?q=ab&offset=1001","/search?q=ab&limit=51","/search?q=%ED%A0%80%ED%A0%80","/search?q=%ff%fe","/search?q=%25%25","/search?q=%5C%5C","/search?q=%E2%80%AEabc","/search?q="+"a"*201,"/search?q=%27%27","/search?q=a:*%26!","/a/b/c","/a%00/b/c","/a/b/%ff","/a/b","/a%2Fb/c/d"]:
        await show("GET", S+u)
    for m,u in [("DELETE",P),("PUT",S),("POST","/"),("HEAD","/"),("OPTIONS","/"),("GET","/nope"),("GET","/api/nope"),("GET","/openapi"),("GET","/openapi/x"),("GET","/static/assay.css"),("GET","/static/nope"),("GET","/static/../app.py"),("GET","/healthz?x=1"),("GET","/metrics?traffic=1"),("GET","/openapi/openapi.json?x=1"),("GET","/static/assay.css?v=1")]:
        await show(m,u)
        await show(m,u,headers={"accept":"text/html"})
    import base64
    for s in ["0001-01-01T00:00:00+14:00|00000000-0000-0000-0000-000000000000","9999-12-31T23:59:59-14:00|00000000-0000-0000-0000-000000000000"]:
        cur=base64.urlsafe_b64encode(s.encode()).decode().rstrip("=")
        await show("GET",P+"?cursor="+cur); await show("GET",S+"?cursor="+cur)
    r=await c.get("/metrics"); print("\n".join(l for l in r.text.splitlines() if "http_requests_total" in l))
