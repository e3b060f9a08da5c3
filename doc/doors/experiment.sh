skgpb new yield.skgpb --bounds temperature=20:90 salt=1e-4:0.1:log
skgpb ask yield.skgpb
skgpb tell yield.skgpb 0.94
skgpb best yield.skgpb
skgpb plot yield.skgpb
